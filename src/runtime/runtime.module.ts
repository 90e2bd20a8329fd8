import { Global, Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentModule } from '../agents/agent.module.js';
import { InboxModule } from '../inbox/inbox.module.js';
import { LaunchKit } from '../runs/launch-kit.js';
import { RunModule } from '../runs/run.module.js';
import { SessionModule } from '../sessions/session.module.js';
import { TaskModule } from '../tasks/task.module.js';
import { TranscriptModule } from '../transcript/transcript.module.js';
import { WorkspaceModule } from '../workspaces/workspace.module.js';
import { RUNTIME_ACTIONS } from './all-actions.js';
import { ApprovalController } from './approval.controller.js';
import { ApprovalDesk } from './approval-desk.service.js';
import { HireDesk } from './hire-desk.service.js';
import { McpController } from './mcp/mcp.controller.js';
import { McpDesk } from './mcp/mcp-desk.service.js';
import { McpTools } from './mcp/mcp-tools.service.js';
import { Memory } from './memory.service.js';
import { NewFolderSkills } from './new-folder-skills.js';
import { RunLaunchKit } from './run-launch-kit.service.js';
import { RunFence } from './run-fence.js';
import { RuntimeActions } from './runtime-actions.service.js';
import { runtimeController } from './runtime.controller.js';

/** What agents may ask for, over REST and MCP, and what people grant them. Global because it fills a port of the scheduler's. */
@Global()
@Module({
  imports: [AccessModule, AgentModule, InboxModule, RunModule, SessionModule, TaskModule, TranscriptModule, WorkspaceModule],
  controllers: [ApprovalController, McpController, runtimeController(RUNTIME_ACTIONS)],
  providers: [
    ApprovalDesk,
    HireDesk,
    McpDesk,
    McpTools,
    Memory,
    NewFolderSkills,
    RunFence,
    RuntimeActions,
    { provide: LaunchKit, useClass: RunLaunchKit },
    ...RUNTIME_ACTIONS,
  ],
  exports: [LaunchKit],
})
export class RuntimeModule {}
