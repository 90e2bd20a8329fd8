import { Module } from '@nestjs/common';
import { InboxModule } from '../inbox/inbox.module.js';
import { RunModule } from '../runs/run.module.js';
import { TaskModule } from '../tasks/task.module.js';
import { Escalation } from './escalation.service.js';
import { FailureDiagnoser } from './failure-diagnosis.service.js';
import { FailureEnding } from './failure-ending.service.js';
import { FailureRecorder } from './failure-recorder.service.js';
import { RetryRepository } from './retry.repository.js';
import { SettlementRepository } from './settlement.repository.js';
import { SettlementService } from './settlement.service.js';

/** The one seam through which runs end. */
@Module({
  imports: [InboxModule, RunModule, TaskModule],
  providers: [Escalation, FailureDiagnoser, FailureEnding, FailureRecorder, RetryRepository, SettlementRepository, SettlementService],
  exports: [SettlementService],
})
export class SettlementModule {}
