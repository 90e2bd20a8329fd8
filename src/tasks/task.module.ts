import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentModule } from '../agents/agent.module.js';
import { RegisteredRepositories } from '../repositories/registered-repositories.js';
import { WorkflowModule } from '../workflow/workflow.module.js';
import { BlockerRepository } from './blocker.repository.js';
import { CommentDesk } from './comment-desk.service.js';
import { CommentRepository } from './comment.repository.js';
import { CommentService } from './comment.service.js';
import { GateController } from './gate.controller.js';
import { GateDesk } from './gate-desk.service.js';
import { GateRepository } from './gate.repository.js';
import { TaskBlockers } from './task-blockers.service.js';
import { TaskChanges } from './task-changes.service.js';
import { TaskDependents } from './task-dependents.service.js';
import { TaskDesk } from './task-desk.service.js';
import { TaskGate } from './task-gate.service.js';
import { TaskIntake } from './task-intake.service.js';
import { TaskMoves } from './task-moves.service.js';
import { TaskReads } from './task-reads.repository.js';
import { TaskViews } from './task-views.service.js';
import { TaskController } from './task.controller.js';
import { TaskRepository } from './task.repository.js';
import { TaskService } from './task.service.js';

/** The work. Its ports `TaskReactions` and `TaskSessions` are filled above and joined by the app. */
@Module({
  imports: [AccessModule, AgentModule, WorkflowModule],
  controllers: [GateController, TaskController],
  providers: [
    BlockerRepository,
    CommentDesk,
    CommentRepository,
    CommentService,
    RegisteredRepositories,
    GateDesk,
    GateRepository,
    TaskBlockers,
    TaskChanges,
    TaskDependents,
    TaskDesk,
    TaskGate,
    TaskIntake,
    TaskMoves,
    TaskReads,
    TaskRepository,
    TaskService,
    TaskViews,
  ],
  exports: [CommentDesk, CommentService, GateRepository, TaskChanges, TaskDependents, TaskGate, TaskIntake, TaskMoves, TaskService],
})
export class TaskModule {}
