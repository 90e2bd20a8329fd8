import { Injectable, Logger } from '@nestjs/common';
import { OfficeHost } from '../platform/office-host.js';
import { AbandonedRuns } from '../runs/abandoned-runs.service.js';
import type { FencedRun } from '../runs/fenced-run.js';
import type { Settled } from '../settlement/domain/ending.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { Persistence } from './persistence.js';

/**
 * What the last process of this host left running is settled before anything new is claimed. Nobody can be running it: the
 * data dir is locked, and the process groups of the earlier boot have been killed by now (contract 4).
 */
@Injectable()
export class BootRecovery {
  private readonly logger = new Logger(BootRecovery.name);

  constructor(
    private readonly abandoned: AbandonedRuns,
    private readonly settlement: SettlementService,
    private readonly persistence: Persistence,
    private readonly host: OfficeHost,
  ) {}

  async settleEarlierBoots(): Promise<void> {
    const counts: Record<string, number> = {};
    for (;;) {
      const runs = await this.persistence.untilHeard(() => this.abandoned.ofEarlierBoots(this.host.id, this.host.bootId));
      if (runs.length === 0) break;
      let ended = 0;
      for (const run of runs) {
        const settled = await this.settle(run);
        counts[settled] = (counts[settled] ?? 0) + 1;
        if (settled !== 'unsettled') ended++;
      }
      // What cannot be settled must not keep the doors shut.
      if (ended === 0) break;
    }
    if (Object.keys(counts).length > 0) this.logger.warn(counts, 'runs of an earlier start settled');
  }

  private async settle(run: FencedRun): Promise<Settled | 'unsettled'> {
    try {
      return await this.persistence.untilHeard(() => this.settlement.settle(run, { kind: 'interrupted', cause: 'host_restart' }));
    } catch (error) {
      this.logger.error({ run_id: run.runId, err: error }, 'run of an earlier start could not be settled');
      return 'unsettled';
    }
  }
}
