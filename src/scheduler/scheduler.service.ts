import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { AdapterRegistry } from '../execution/adapter-registry.service.js';
import { ExecutionOptions } from '../execution/execution-options.js';
import { killLeftovers } from '../execution/supervisor/kill-leftovers.js';
import { Clock } from '../platform/clock/clock.js';
import { Readiness } from '../platform/health/readiness.js';
import { StoredWakes } from '../runs/stored-wakes.service.js';
import { HostRegistry } from '../workspaces/host-registry.service.js';
import { WorktreeKeeper } from '../worktrees/worktree-keeper.service.js';
import { BootRecovery } from './boot-recovery.service.js';
import { ClaimLoop } from './claim-loop.service.js';
import { Drain } from './drain.service.js';
import { LeaseKeeper } from './lease-keeper.service.js';

/** A claim loop that has not gone round for this long is not alive, whatever the reason. */
const ALIVE_WITHIN_MS = 30_000;

/** Opens and closes the shift: recovery first, then the loops; at the end no claims, time for the turns, then a firm goodbye. */
@Injectable()
export class Scheduler implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Scheduler.name);
  private closing = false;

  constructor(
    private readonly recovery: BootRecovery,
    private readonly claimLoop: ClaimLoop,
    private readonly leases: LeaseKeeper,
    private readonly drain: Drain,
    private readonly adapters: AdapterRegistry,
    private readonly execution: ExecutionOptions,
    private readonly hosts: HostRegistry,
    private readonly storedWakes: StoredWakes,
    private readonly worktrees: WorktreeKeeper,
    private readonly readiness: Readiness,
    private readonly clock: Clock,
  ) {}

  /**
   * Called once the doors are open: an office that cannot listen must not have launched anybody. Until then nothing is
   * claimed, and closing has nothing to drain.
   */
  async open(): Promise<void> {
    const killed = await killLeftovers(this.execution.stateDir, this.clock);
    if (killed.length > 0) this.logger.warn({ executions: killed.length }, 'agents of an earlier start ended');
    await this.hosts.register(this.adapters.installed());
    await this.recovery.settleEarlierBoots();
    await this.storedWakes.place();
    this.claimLoop.start();
    this.leases.start();
    this.worktrees.start();
    this.readiness.register('scheduler', () =>
      !this.closing && (this.readiness.draining || this.claimLoop.idleMs() < ALIVE_WITHIN_MS)
        ? Promise.resolve()
        : Promise.reject(new Error(this.closing ? 'the office is closing' : 'the claim loop does not go round')),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.closing = true;
    await this.worktrees.stop();
    await this.drain.toTheEnd();
    await this.leases.stop();
  }
}
