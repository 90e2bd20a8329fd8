import { Module } from '@nestjs/common';
import { InboxModule } from '../inbox/inbox.module.js';
import { RunModule } from '../runs/run.module.js';
import { SessionModule } from '../sessions/session.module.js';
import { TaskModule } from '../tasks/task.module.js';
import { Escalation } from './escalation.service.js';
import { FailureDiagnoser } from './failure-diagnosis.service.js';
import { FailureEnding } from './failure-ending.service.js';
import { FailureRecorder } from './failure-recorder.service.js';
import { RetryRepository } from './retry.repository.js';
import { SettlementRepository } from './settlement.repository.js';
import { SignalEnding } from './signal-ending.service.js';
import { SettlementService } from './settlement.service.js';

/** The one seam through which runs end. */
@Module({
  imports: [InboxModule, RunModule, SessionModule, TaskModule],
  providers: [
    Escalation,
    FailureDiagnoser,
    FailureEnding,
    FailureRecorder,
    RetryRepository,
    SettlementRepository,
    SettlementService,
    SignalEnding,
  ],
  exports: [SettlementService, SignalEnding],
})
export class SettlementModule {}
