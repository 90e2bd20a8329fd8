import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentUsers } from './agent-users.service.js';
import { HostController } from './host.controller.js';
import { HostRegistry } from './host-registry.service.js';
import { MemberService } from './member.service.js';
import { SecretService } from './secret.service.js';
import { SecretStore } from './secret-store.service.js';
import { SecretsKey } from './secrets-key.js';
import { SkillController } from './skill.controller.js';
import { SkillService } from './skill.service.js';
import { WorkspaceController } from './workspace.controller.js';
import { WorkspaceService } from './workspace.service.js';

/** Tenants with their settings, members and secrets, and the hosts that work for all of them. Needs a `WorkspaceFurnishing`. */
@Module({
  imports: [AccessModule],
  controllers: [WorkspaceController, HostController, SkillController],
  providers: [WorkspaceService, MemberService, SecretService, SecretStore, SecretsKey, HostRegistry, AgentUsers, SkillService],
  exports: [AgentUsers, SecretStore, HostRegistry, SkillService],
})
export class WorkspaceModule {}
