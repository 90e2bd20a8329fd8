import { Global, Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentModule } from '../agents/agent.module.js';
import { AgentReactions } from '../agents/agent-reactions.js';
import { AgentReadings } from '../agents/agent-readings.js';
import { InboxAgentReadings } from '../inbox/inbox-agent-readings.js';
import { InboxModule } from '../inbox/inbox.module.js';
import { RunModule } from '../runs/run.module.js';
import { SessionModule } from '../sessions/session.module.js';
import { SessionsOfTasks } from '../sessions/sessions-of-tasks.service.js';
import { TaskModule } from '../tasks/task.module.js';
import { TaskReactions } from '../tasks/task-reactions.js';
import { TaskSessions } from '../tasks/task-sessions.js';
import { TranscriptModule } from '../transcript/transcript.module.js';
import { CapabilityGrants } from './capability-grants.service.js';
import { FailedRunFixing } from './failed-run-fixing.service.js';
import { InboxDesk } from './inbox-desk.service.js';
import { InterruptionFixing } from './interruption-fixing.service.js';
import { InterruptionResumer } from './interruption-resumer.service.js';
import { OfficeAgentReactions } from './office-agent-reactions.service.js';
import { OfficeTaskReactions } from './office-task-reactions.service.js';
import { PairRecovery } from './pair-recovery.service.js';
import { PauseFixing } from './pause-fixing.service.js';
import { RecoveryController } from './recovery.controller.js';
import { PermissionAnswers } from './permission-answers.service.js';
import { PermissionController } from './permission.controller.js';
import { ProviderHoldController } from './provider-hold.controller.js';
import { ProviderHoldDesk } from './provider-hold-desk.service.js';
import { RunCommandsController } from './run-commands.controller.js';
import { RunCommands } from './run-commands.service.js';
import { SessionCommands } from './session-commands.service.js';
import { WorkspaceSwitch } from './workspace-switch.service.js';

/** What people do about runs, and what changes of tasks and agents do to them. Fills the ports of the rooms below. */
@Global()
@Module({
  imports: [AccessModule, AgentModule, InboxModule, RunModule, SessionModule, TaskModule, TranscriptModule],
  controllers: [PermissionController, ProviderHoldController, RecoveryController, RunCommandsController],
  providers: [
    CapabilityGrants,
    FailedRunFixing,
    InboxDesk,
    InterruptionFixing,
    InterruptionResumer,
    PairRecovery,
    PauseFixing,
    PermissionAnswers,
    ProviderHoldDesk,
    RunCommands,
    SessionCommands,
    WorkspaceSwitch,
    { provide: TaskReactions, useClass: OfficeTaskReactions },
    { provide: AgentReactions, useClass: OfficeAgentReactions },
    { provide: AgentReadings, useClass: InboxAgentReadings },
    { provide: TaskSessions, useExisting: SessionsOfTasks },
  ],
  exports: [TaskReactions, AgentReactions, AgentReadings, TaskSessions],
})
export class RecoveryModule {}
