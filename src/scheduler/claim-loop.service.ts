import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { Nudges } from '../platform/database/nudges.js';
import { OfficeHost } from '../platform/office-host.js';
import { ClaimRepository } from '../runs/claim.repository.js';
import { ClaimService } from '../runs/claim.service.js';
import { LiveRuns } from './live-runs.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { RunDriver } from './run-driver.service.js';

/** A lost nudge, and whatever else time alone makes claimable, is found within this time. */
const POLL_MS = 1_000;

/**
 * Claims while there is room. Events wake it; the poll is the net. Workspaces take turns: one claim each, then the next, so
 * that a busy tenant cannot keep the others waiting.
 */
@Injectable()
export class ClaimLoop {
  private readonly stopping = new AbortController();
  private readonly inTurn = new Set<string>();
  private awaken: () => void = () => undefined;
  private running: Promise<void> = Promise.resolve();
  private polledAt = -Infinity;
  /** When the next retry is due that the last poll saw. */
  private dueAt = Infinity;
  private turnedAt = -Infinity;
  /** Slots that a claim under way may fill. */
  private promised = 0;

  constructor(
    private readonly claims: ClaimService,
    private readonly waiting: ClaimRepository,
    private readonly driver: RunDriver,
    private readonly settlement: SettlementService,
    private readonly live: LiveRuns,
    private readonly nudges: Nudges,
    private readonly outage: DatabaseOutage,
    private readonly host: OfficeHost,
    private readonly settings: OfficeSettings,
    private readonly clock: Clock,
  ) {}

  start(): void {
    const deaf = [this.nudges.on('work', (workspaceId) => this.look(workspaceId)), this.nudges.onEverything(() => this.lookEverywhere())];
    this.stopping.signal.addEventListener('abort', () => deaf.forEach((stop) => stop()), { once: true });
    this.running = this.run(this.stopping.signal);
  }

  /** Claims nothing more; resolves when a claim under way has been handed to its driver. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.awaken();
    await this.running;
  }

  /** Milliseconds since the loop last went round; for readiness. */
  idleMs(): number {
    return this.clock.monotonicMs() - this.turnedAt;
  }

  private look(workspaceId: string): void {
    this.inTurn.add(workspaceId);
    this.awaken();
  }

  private lookEverywhere(): void {
    this.polledAt = -Infinity;
    this.awaken();
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.turnedAt = this.clock.monotonicMs();
      try {
        await this.pollWhenDue();
        // Two walkers over the same turn: while one waits for the database the other claims elsewhere.
        await this.claimByTwo(signal);
        this.outage.recovered();
        await this.untilAwakened(signal);
      } catch (error) {
        await this.clock.sleep(this.outage.failed(error), signal);
      }
    }
  }

  private async pollWhenDue(): Promise<void> {
    const now = this.clock.monotonicMs();
    if (this.live.free === 0 || (now - this.polledAt < POLL_MS && now < this.dueAt)) return;
    for (const workspaceId of await this.waiting.workspacesWithWork()) this.inTurn.add(workspaceId);
    const next = await this.waiting.nextRetryMs();
    this.polledAt = this.clock.monotonicMs();
    this.dueAt = next === null ? Infinity : this.polledAt + next;
  }

  /** Waits for both, however one of them ends: a claim must not come back to a loop that has gone on or away. */
  private async claimByTwo(signal: AbortSignal): Promise<void> {
    const ends = await Promise.allSettled([this.claimInTurn(signal), this.claimInTurn(signal)]);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  private async claimInTurn(signal: AbortSignal): Promise<void> {
    // Those that are there now: whoever comes meanwhile has the next round, after the poll had its chance.
    const round = Array.from(this.inTurn);
    for (const workspaceId of round) {
      if (!this.inTurn.has(workspaceId)) continue;
      const limit = Math.min(this.live.free - this.promised, this.share);
      if (signal.aborted || limit <= 0) return;
      this.inTurn.delete(workspaceId);
      this.promised += limit;
      try {
        // At the end of the next round: a Set keeps the order of insertion.
        if (await this.claimOf(workspaceId, limit)) this.inTurn.add(workspaceId);
      } finally {
        this.promised -= limit;
      }
    }
  }

  /** True when the workspace may have more to claim at once. */
  private async claimOf(workspaceId: string, limit: number): Promise<boolean> {
    const { claimed, tooOld, mayHaveMore } = await this.claims.claim({
      workspaceId,
      hostId: this.host.id,
      bootId: this.host.bootId,
      leaseSec: this.settings.OFFICE_LEASE_SEC,
      busyTaskIds: this.live.busyTaskIds(),
      limit,
      workDir: this.settings.OFFICE_WORK_DIR,
    });
    for (const run of claimed) void this.driver.drive(run);
    for (const run of tooOld) await this.settlement.giveUp(run);
    return mayHaveMore;
  }

  /** No claim takes more than half of all slots, so that the other walker finds some too. */
  private get share(): number {
    return Math.max(1, Math.ceil(this.settings.OFFICE_MAX_EXECUTIONS / 2));
  }

  private async untilAwakened(signal: AbortSignal): Promise<void> {
    if (signal.aborted || (this.inTurn.size > 0 && this.live.free > 0)) return;
    // Without room there is nothing to be in time for: whoever gives a slot back says so.
    const due = this.live.free === 0 ? POLL_MS : this.dueAt - this.clock.monotonicMs();
    await new Promise<void>((resolve) => {
      const poll = this.clock.after(Math.max(0, Math.min(POLL_MS, due)), resolve);
      this.awaken = () => {
        poll.cancel();
        resolve();
      };
    });
  }
}
