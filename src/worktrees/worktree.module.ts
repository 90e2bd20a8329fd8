import { Module } from '@nestjs/common';
import { RepositoryModule } from '../repositories/repository.module.js';
import { WorkspaceModule } from '../workspaces/workspace.module.js';
import { TaskFolders } from './task-folders.service.js';
import { WorktreeChanges } from './worktree-changes.service.js';
import { WorktreeDesk } from './worktree-desk.service.js';
import { WorktreeInspector } from './worktree-inspector.service.js';
import { WorktreeKeeper } from './worktree-keeper.service.js';
import { WorktreeMaker } from './worktree-maker.service.js';
import { WorktreePush } from './worktree-push.service.js';
import { WorktreeRemoval } from './worktree-removal.service.js';
import { WorktreeController } from './worktree.controller.js';
import { WorktreeRepository } from './worktree.repository.js';

/** Where runs work: folders, and worktrees of registered repositories with what people do about them. Needs `BusyTasks`. */
@Module({
  imports: [RepositoryModule, WorkspaceModule],
  controllers: [WorktreeController],
  providers: [
    TaskFolders,
    WorktreeChanges,
    WorktreeDesk,
    WorktreeInspector,
    WorktreeKeeper,
    WorktreeMaker,
    WorktreePush,
    WorktreeRemoval,
    WorktreeRepository,
  ],
  exports: [TaskFolders, WorktreeKeeper],
})
export class WorktreeModule {}
