import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { AdapterRegistry } from '../execution/adapter-registry.service.js';
import { AgentRuntime } from '../execution/agent-runtime.js';
import { ExecutionOptions } from '../execution/execution-options.js';
import { killLeftovers } from '../execution/supervisor/kill-leftovers.js';
import { Clock } from '../platform/clock/clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { Readiness } from '../platform/health/readiness.js';
import { StoredWakes } from '../runs/stored-wakes.service.js';
import { HostRegistry } from '../workspaces/host-registry.service.js';
import { TaskFolders } from '../worktrees/task-folders.service.js';
import { WorktreeKeeper } from '../worktrees/worktree-keeper.service.js';
import { BootRecovery } from './boot-recovery.service.js';
import { ClaimLoop } from './claim-loop.service.js';
import { LeaseKeeper } from './lease-keeper.service.js';
import { LiveRuns } from './live-runs.js';
import { Persistence } from './persistence.js';

/** A claim loop that has not gone round for this long is not alive, whatever the reason. */
const ALIVE_WITHIN_MS = 30_000;

/** After the drain's deadline: how often a stop is repeated, and how long the last settlements may wait for the database. */
const STOP_AGAIN_MS = 500;
const LAST_WORDS_MS = 15_000;

/** Opens and closes the shift: recovery first, then the loops; at the end no claims, time for the turns, then a firm goodbye. */
@Injectable()
export class Scheduler implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Scheduler.name);
  private closing = false;

  constructor(
    private readonly recovery: BootRecovery,
    private readonly claimLoop: ClaimLoop,
    private readonly leases: LeaseKeeper,
    private readonly live: LiveRuns,
    private readonly runtime: AgentRuntime,
    private readonly adapters: AdapterRegistry,
    private readonly execution: ExecutionOptions,
    private readonly hosts: HostRegistry,
    private readonly storedWakes: StoredWakes,
    private readonly folders: TaskFolders,
    private readonly worktrees: WorktreeKeeper,
    private readonly persistence: Persistence,
    private readonly readiness: Readiness,
    private readonly settings: OfficeSettings,
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
      !this.closing && this.claimLoop.idleMs() < ALIVE_WITHIN_MS
        ? Promise.resolve()
        : Promise.reject(new Error(this.closing ? 'the office is closing' : 'the claim loop does not go round')),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.closing = true;
    await this.sayWeDrain();
    await this.claimLoop.stop();
    await this.worktrees.stop();
    await this.drain();
    await this.leases.stop();
  }

  /** Turns under way may end by themselves until the deadline; then they are stopped and settled as interrupted (contract 4). */
  private async drain(): Promise<void> {
    if (this.live.size > 0)
      this.logger.log({ runs: this.live.size, deadline_sec: this.settings.OFFICE_DRAIN_SEC }, 'waiting for turns to end');
    await this.emptyWithin(this.settings.OFFICE_DRAIN_SEC * 1_000);
    this.folders.giveUp();
    for (let waited = 0; this.live.size > 0; waited += STOP_AGAIN_MS) {
      // Repeated, because a run may only now get to the launch of its process.
      for (const { executionId } of this.live.all()) void this.runtime.stop(executionId, 'drain_deadline');
      if (waited > LAST_WORDS_MS) this.persistence.abandon();
      await this.emptyWithin(STOP_AGAIN_MS);
    }
  }

  private async sayWeDrain(): Promise<void> {
    try {
      await this.hosts.setDraining(true);
    } catch (error) {
      this.logger.warn({ err: error }, 'draining could not be told');
    }
  }

  private async emptyWithin(ms: number): Promise<void> {
    const enough = new AbortController();
    await Promise.race([this.live.empty(), this.clock.sleep(ms, enough.signal)]);
    enough.abort();
  }
}
