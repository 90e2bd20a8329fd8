import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { AccessModule } from './access/access.module.js';
import { AgentModule } from './agents/agent.module.js';
import { DashboardModule } from './dashboard/dashboard.module.js';
import { databaseOptions } from './database-options.js';
import { ExecutionModule } from './execution/execution.module.js';
import { ExecutionOptions } from './execution/execution-options.js';
import { InboxModule } from './inbox/inbox.module.js';
import { LiveRunsModule } from './scheduler/live-runs.module.js';
import type { OfficeSettings } from './platform/config/office-settings.js';
import type { OfficeHost } from './platform/office-host.js';
import { PlatformModule } from './platform/platform.module.js';
import { RealtimeModule } from './realtime/realtime.module.js';
import { RecoveryModule } from './recovery/recovery.module.js';
import { RepositoryModule } from './repositories/repository.module.js';
import { RetentionModule } from './retention/retention.module.js';
import { RunModule } from './runs/run.module.js';
import { RuntimeModule } from './runtime/runtime.module.js';
import { SchedulerModule } from './scheduler/scheduler.module.js';
import { SessionModule } from './sessions/session.module.js';
import { SettlementModule } from './settlement/settlement.module.js';
import { StallWatchdogModule } from './stall-watchdog/stall-watchdog.module.js';
import { TaskModule } from './tasks/task.module.js';
import { TranscriptModule } from './transcript/transcript.module.js';
import { WorkflowModule } from './workflow/workflow.module.js';
import { WorkspaceModule } from './workspaces/workspace.module.js';
import { WorktreeModule } from './worktrees/worktree.module.js';

export interface OfficeParts {
  readonly settings: OfficeSettings;
  readonly databaseUrl: string;
  readonly host: OfficeHost;
  /** Where the execution room keeps its records, inside the data dir. */
  readonly stateDir: string;
}

/** The floor plan: every room once, from the ground up. */
@Module({})
export class AppModule {
  static of({ settings, databaseUrl, host, stateDir }: OfficeParts): DynamicModule {
    return {
      module: AppModule,
      imports: [
        // A server that froze loses its locks before others take over what it held.
        PlatformModule.forRoot({
          settings,
          database: databaseOptions(databaseUrl, { idleInTransactionMs: Math.min(60, settings.OFFICE_LEASE_SEC) * 1_000 }),
          host,
        }),
        ScheduleModule.forRoot(),
        ExecutionModule.from({ useFactory: () => new ExecutionOptions(stateDir) }),
        AccessModule,
        WorkspaceModule,
        RepositoryModule,
        AgentModule,
        WorkflowModule,
        TaskModule,
        SessionModule,
        TranscriptModule,
        RunModule,
        InboxModule,
        WorktreeModule,
        SettlementModule,
        LiveRunsModule,
        SchedulerModule,
        RecoveryModule,
        RetentionModule,
        RuntimeModule,
        StallWatchdogModule,
        DashboardModule,
        RealtimeModule,
      ],
    };
  }
}
