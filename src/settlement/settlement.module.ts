import { Module } from '@nestjs/common';
import { InboxModule } from '../inbox/inbox.module.js';
import { RunModule } from '../runs/run.module.js';
import { TaskModule } from '../tasks/task.module.js';
import { FailureRecorder } from './failure-recorder.service.js';
import { SettlementRepository } from './settlement.repository.js';
import { SettlementService } from './settlement.service.js';

/** The one seam through which runs end. */
@Module({
  imports: [InboxModule, RunModule, TaskModule],
  providers: [SettlementService, SettlementRepository, FailureRecorder],
  exports: [SettlementService],
})
export class SettlementModule {}
