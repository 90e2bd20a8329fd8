import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { isUnavailable } from '../platform/database/sqlstate.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { OfficeHost } from '../platform/office-host.js';
import { WorktreeRemoval } from './worktree-removal.service.js';
import { WorktreeRepository, type WorktreeRow } from './worktree.repository.js';

const EVERY_MS = 30_000;
/** A worktree with something in it is looked into again after so long, or when its task has changed. */
const AGAIN_SEC = 600;
const AT_ONCE = 20;

/** Removes the worktrees on this host's disk whose task is over and that hold nothing of their own. Never any other. */
@Injectable()
export class WorktreeKeeper {
  private readonly logger = new Logger(WorktreeKeeper.name);
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly worktrees: WorktreeRepository,
    private readonly removal: WorktreeRemoval,
    private readonly outage: DatabaseOutage,
    private readonly host: OfficeHost,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.running = this.run(this.stopping.signal);
  }

  /** Resolves when what is being looked at has been dealt with. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** One round: what an earlier process left half removed first. */
  async tidy(signal: AbortSignal = this.stopping.signal): Promise<void> {
    for (const row of await this.worktrees.halfRemoved(this.host.id, AT_ONCE)) {
      if (signal.aborted) return;
      await this.settle(row, () => this.removal.finish(row));
    }
    for (const row of await this.worktrees.ofTasksThatAreOver(this.host.id, AGAIN_SEC, AT_ONCE)) {
      if (signal.aborted) return;
      await this.settle(row, () => this.removeIfClean(row));
    }
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pause = EVERY_MS;
      try {
        await this.tidy(signal);
        this.outage.recovered();
      } catch (error) {
        pause = Math.max(EVERY_MS, this.outage.failed(error));
      }
      await this.clock.sleep(pause, signal);
    }
  }

  private async removeIfClean(row: WorktreeRow): Promise<void> {
    const holdings = await this.removal.holdingsOf(row);
    await this.worktrees.writeHoldings(row, holdings);
    if (holdings === null || holdings.uncommitted > 0 || holdings.unpushed > 0) return;
    await this.removal.remove(row, { losesWork: false, onlyIfOver: true });
    this.logger.log({ task_id: row.task_id, workspace_id: row.workspace_id }, 'worktree of a task that is over removed');
  }

  /** One that cannot be dealt with must not keep the others waiting. */
  private async settle(row: WorktreeRow, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isUnavailable(error)) throw error;
      // Somebody has begun to work in it, or something has come into it, since we looked.
      if (error instanceof OfficeError && (error.code === 'task_busy' || error.code === 'worktree_not_clean')) return;
      this.logger.warn({ task_id: row.task_id, workspace_id: row.workspace_id, err: error }, 'worktree could not be looked into');
      await this.worktrees.writeHoldings(row, null);
    }
  }
}
