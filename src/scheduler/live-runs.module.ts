import { Global, Module } from '@nestjs/common';
import { BusyTasks } from '../runs/run-reads.service.js';
import { LiveRuns } from './live-runs.js';

/** Fills the port through which lower rooms learn what this server still holds. */
@Global()
@Module({
  providers: [LiveRuns, { provide: BusyTasks, useExisting: LiveRuns }],
  exports: [LiveRuns, BusyTasks],
})
export class LiveRunsModule {}
