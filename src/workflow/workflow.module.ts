import { Module } from '@nestjs/common';
import { WorkflowRepository } from './workflow.repository.js';
import { WorkflowService } from './workflow.service.js';

/** How work goes through a workspace. Its service is the `WorkspaceFurnishing` that the app joins to `workspaces/`. */
@Module({
  providers: [WorkflowRepository, WorkflowService],
  exports: [WorkflowService],
})
export class WorkflowModule {}
