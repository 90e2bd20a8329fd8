import { Module } from '@nestjs/common';
import { InboxModule } from '../inbox/inbox.module.js';
import { RunModule } from '../runs/run.module.js';
import { SettlementModule } from '../settlement/settlement.module.js';
import { WorkspaceModule } from '../workspaces/workspace.module.js';
import { TranscriptModule } from '../transcript/transcript.module.js';
import { WorktreeModule } from '../worktrees/worktree.module.js';
import { AdaptersController } from './adapters.controller.js';
import { AgentConfigs } from './agent-configs.service.js';
import { AgentPlaces } from './agent-places.service.js';
import { BootRecovery } from './boot-recovery.service.js';
import { ClaimLoop } from './claim-loop.service.js';
import { DrainController } from './drain.controller.js';
import { Drain } from './drain.service.js';
import { LaunchPreparation } from './launch-preparation.service.js';
import { LeaseKeeper } from './lease-keeper.service.js';
import { LiveRunsModule } from './live-runs.module.js';
import { PermissionKeeper } from './permission-keeper.service.js';
import { Persistence } from './persistence.js';
import { RunDriver } from './run-driver.service.js';
import { RunMetrics } from './run-metrics.js';
import { Scheduler } from './scheduler.service.js';

/** Who runs now: claims, drives, keeps and settles this server's runs. */
@Module({
  imports: [InboxModule, RunModule, SettlementModule, TranscriptModule, WorkspaceModule, WorktreeModule, LiveRunsModule],
  controllers: [AdaptersController, DrainController],
  providers: [
    AgentConfigs,
    AgentPlaces,
    BootRecovery,
    ClaimLoop,
    Drain,
    LaunchPreparation,
    LeaseKeeper,
    PermissionKeeper,
    Persistence,
    RunDriver,
    RunMetrics,
    Scheduler,
  ],
})
export class SchedulerModule {}
