import { Global, Module } from '@nestjs/common';
import { WorkspaceFurnishing } from '../workspaces/workspace-furnishing.js';
import { WorkflowRepository } from './workflow.repository.js';
import { WorkflowService } from './workflow.service.js';

/** How work goes through a workspace. Global only because it fills a port of `workspaces/`, which stands below it. */
@Global()
@Module({
  providers: [WorkflowRepository, WorkflowService, { provide: WorkspaceFurnishing, useExisting: WorkflowService }],
  exports: [WorkflowService, WorkspaceFurnishing],
})
export class WorkflowModule {}
