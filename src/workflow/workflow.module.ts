import { Global, Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentModule } from '../agents/agent.module.js';
import { WorkspaceFurnishing } from '../workspaces/workspace-furnishing.js';
import { ProjectDesk } from './project-desk.service.js';
import { ProjectController } from './project.controller.js';
import { ProjectRepository } from './project.repository.js';
import { SeatRepository } from './seat.repository.js';
import { SeatService } from './seat.service.js';
import { WorkflowDeskRepository } from './workflow-desk.repository.js';
import { WorkflowDesk } from './workflow-desk.service.js';
import { WorkflowController } from './workflow.controller.js';
import { WorkflowRepository } from './workflow.repository.js';
import { WorkflowService } from './workflow.service.js';

/** How work goes through a workspace. Global only because it fills a port of `workspaces/`, which stands below it. */
@Global()
@Module({
  imports: [AccessModule, AgentModule],
  controllers: [ProjectController, WorkflowController],
  providers: [
    ProjectDesk,
    ProjectRepository,
    SeatRepository,
    SeatService,
    WorkflowDesk,
    WorkflowDeskRepository,
    WorkflowRepository,
    WorkflowService,
    { provide: WorkspaceFurnishing, useExisting: WorkflowService },
  ],
  exports: [ProjectDesk, SeatService, WorkflowService, WorkspaceFurnishing],
})
export class WorkflowModule {}
