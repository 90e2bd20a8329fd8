import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { RunModule } from '../runs/run.module.js';
import { SettlementModule } from '../settlement/settlement.module.js';
import { TaskModule } from '../tasks/task.module.js';
import { DecisionWaiting } from './decision-waiting.pass.js';
import { QuietRuns } from './quiet-runs.pass.js';
import { SignalReclaimer } from './signal-reclaimer.service.js';
import { StallMetrics } from './stall-metrics.js';
import {
  QuietTurnRows,
  RunInFlightRows,
  SignalledSessionRows,
  StepDecisionRows,
  StepParticipantRows,
  TaskAtGateRows,
} from './stall-readers.repository.js';
import { QuietTurns, RunsInFlight, SignalledSessions, StepDecisions, StepParticipants, TasksAtGates } from './stall-readers.js';
import { StallTeller } from './stall-teller.service.js';
import { StallWatchdogCron } from './stall-watchdog.cron.js';
import { StallWatchdog } from './stall-watchdog.service.js';
import { StallsController } from './stalls.controller.js';
import { StallsDesk } from './stalls-desk.service.js';
import { StrandedSignals } from './stranded-signals.pass.js';

/** Sees what stalls and says so. Of the Office's tasks it changes nothing. */
@Module({
  imports: [AccessModule, RunModule, SettlementModule, TaskModule],
  controllers: [StallsController],
  providers: [
    DecisionWaiting,
    QuietRuns,
    SignalReclaimer,
    StallMetrics,
    StallTeller,
    StallWatchdog,
    StallWatchdogCron,
    StallsDesk,
    StrandedSignals,
    { provide: SignalledSessions, useClass: SignalledSessionRows },
    { provide: TasksAtGates, useClass: TaskAtGateRows },
    { provide: StepParticipants, useClass: StepParticipantRows },
    { provide: StepDecisions, useClass: StepDecisionRows },
    { provide: RunsInFlight, useClass: RunInFlightRows },
    { provide: QuietTurns, useClass: QuietTurnRows },
  ],
  exports: [StallWatchdog],
})
export class StallWatchdogModule {}
