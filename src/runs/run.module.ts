import { Module } from '@nestjs/common';
import { ClaimRepository } from './claim.repository.js';
import { ClaimService } from './claim.service.js';
import { AbandonedRuns } from './abandoned-runs.service.js';
import { RunController } from './run.controller.js';
import { RunOwnership } from './run-ownership.service.js';
import { RunReads } from './run-reads.service.js';
import { RunStops } from './run-stops.service.js';
import { StoredWakes } from './stored-wakes.service.js';
import { UsageController } from './usage.controller.js';
import { UsageService } from './usage.service.js';
import { WakeService } from './wake.service.js';

/** Wake-ups from queue to claim: the wake seam, the claim, ownership. Their end is the settlement's. Needs `BusyTasks`. */
@Module({
  controllers: [RunController, UsageController],
  providers: [WakeService, ClaimRepository, ClaimService, RunOwnership, RunStops, RunReads, AbandonedRuns, StoredWakes, UsageService],
  exports: [WakeService, ClaimRepository, ClaimService, RunOwnership, RunStops, RunReads, AbandonedRuns, StoredWakes],
})
export class RunModule {}
