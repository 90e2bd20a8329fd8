import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { Git } from './git.service.js';
import { RepositoryController } from './repository.controller.js';
import { RepositoryDesk } from './repository-desk.service.js';
import { RepositoryInspector } from './repository-inspector.service.js';
import { RepositoryService } from './repository.service.js';
import { WorkspaceModule } from '../workspaces/workspace.module.js';

/** The git repositories of this host that tasks may work in, and git itself. */
@Module({
  imports: [AccessModule, WorkspaceModule],
  controllers: [RepositoryController],
  providers: [Git, RepositoryDesk, RepositoryInspector, RepositoryService],
  exports: [Git, RepositoryInspector, RepositoryService],
})
export class RepositoryModule {}
