import { Injectable, Logger } from '@nestjs/common';
import { AdapterRegistry } from '../execution/adapter-registry.service.js';
import { AgentRuntime } from '../execution/agent-runtime.js';
import { ProcessSupervision } from '../execution/supervisor/process-supervision.service.js';
import { Clock } from '../platform/clock/clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { Nudges } from '../platform/database/nudges.js';
import { isUnavailable } from '../platform/database/sqlstate.js';
import { OfficeHost } from '../platform/office-host.js';
import { AbandonedRuns } from '../runs/abandoned-runs.service.js';
import type { FencedRun } from '../runs/fenced-run.js';
import { StoredWakes } from '../runs/stored-wakes.service.js';
import type { ClaimedRun } from '../runs/claim.js';
import { RunOwnership, type Sighting } from '../runs/run-ownership.service.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { HostRegistry } from '../workspaces/host-registry.service.js';
import { RunSecrets } from '../transcript/run-secrets.service.js';
import { LiveRuns } from './live-runs.js';

/** How often a stop that was asked for elsewhere is looked for, should its nudge be lost. */
const STOP_POLL_MS = 1_000;

/**
 * Keeps what this server owns its own, lets go of what it lost, stops what people want stopped, and settles what other
 * hosts died over. One loop: it wakes for stops at once and renews a tenth of the lease apart.
 */
@Injectable()
export class LeaseKeeper {
  private readonly logger = new Logger(LeaseKeeper.name);
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private awaken: () => void = () => undefined;
  private stopsAsked = false;
  private renewedAt = -Infinity;
  private reachableSince = Infinity;
  private announced = '';
  private quiet = false;
  /** Runs of this boot that no driver holds, seen by the last renewal: a claim whose answer never came. */
  private ownerless = new Set<string>();

  constructor(
    private readonly ownership: RunOwnership,
    private readonly abandoned: AbandonedRuns,
    private readonly settlement: SettlementService,
    private readonly storedWakes: StoredWakes,
    private readonly hosts: HostRegistry,
    private readonly runtime: AgentRuntime,
    private readonly supervision: ProcessSupervision,
    private readonly adapters: AdapterRegistry,
    private readonly live: LiveRuns,
    private readonly secrets: RunSecrets,
    private readonly nudges: Nudges,
    private readonly outage: DatabaseOutage,
    private readonly host: OfficeHost,
    private readonly settings: OfficeSettings,
    private readonly clock: Clock,
  ) {}

  start(): void {
    const look = (): void => {
      this.stopsAsked = true;
      this.awaken();
    };
    const deaf = [this.nudges.on('stop', look), this.nudges.onEverything(look)];
    this.stopping.signal.addEventListener('abort', () => deaf.forEach((stop) => stop()), { once: true });
    this.reachableSince = this.clock.monotonicMs();
    this.running = this.run(this.stopping.signal);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.awaken();
    await this.running;
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.stopsAsked || this.live.size > 0) await this.stopWhatIsAsked();
        if (this.clock.monotonicMs() - this.renewedAt >= this.renewEveryMs) await this.renew();
        this.outage.recovered();
        await this.untilAwakened();
      } catch (error) {
        // Leases of others that ran out while the database was away are not their fault.
        if (isUnavailable(error)) this.reachableSince = Infinity;
        await this.clock.sleep(this.outage.failed(error), signal);
      }
    }
  }

  private get renewEveryMs(): number {
    return this.settings.OFFICE_LEASE_SEC * 100;
  }

  private async stopWhatIsAsked(): Promise<void> {
    this.stopsAsked = false;
    for (const { runId, generation, reason } of await this.ownership.stopsAsked(this.owner)) {
      const run = this.live.find(runId, generation);
      if (run !== undefined) this.letGo(run.executionId, reason);
    }
  }

  private async renew(): Promise<void> {
    const before = this.live.all();
    const sentAt = this.clock.monotonicMs();
    const ours = await this.ownership.renew(
      this.owner,
      before.flatMap((run) => this.sightingOf(run)),
    );
    this.renewedAt = sentAt;
    await this.sayStillHere();
    const othersLive = await this.hosts.othersLive();
    // Twice in a row: a server that has just joined greets before its row is there.
    this.nudges.alone = !othersLive && this.quiet;
    this.quiet = !othersLive;
    await this.ownership.forgetOldKeys();
    this.supervision.setLease(this.settings.OFFICE_LEASE_SEC * 1_000 - (this.clock.monotonicMs() - sentAt), othersLive);
    await this.letGoOfTheLost(before, ours);
    await this.settleTheOwnerless(ours);
    await this.settleTheAbandoned();
    await this.storedWakes.place();
  }

  /** What of a run's process is seen now; nothing before it is there. */
  private sightingOf({ runId, generation, executionId }: ClaimedRun): Sighting[] {
    const seen = this.runtime.getExecution(executionId);
    if (seen === null) return [];
    return [
      {
        runId,
        generation,
        quietMs: seen.lastContentAt === null ? null : Math.max(0, this.clock.now().getTime() - seen.lastContentAt.getTime()),
        processAlive: seen.processGroup !== null && seen.state !== 'gone',
        // In the agent's own words, like all it says (contract 11a).
        currentTool: seen.currentTool === null ? null : this.secrets.of({ runId, generation }).mask(seen.currentTool),
        awaitsPermission: seen.awaitsPermission,
      },
    ];
  }

  /** An agent program installed meanwhile becomes usable without a restart. */
  private async sayStillHere(): Promise<void> {
    const installed = this.adapters.installed();
    if (installed.join() === this.announced) await this.hosts.heartbeat();
    else await this.hosts.register(installed);
    this.announced = installed.join();
  }

  /** Somebody else settled a run of ours: its process has no business any more. A settled run is still live while its process goes. */
  private async letGoOfTheLost(
    before: readonly { runId: string; generation: number; executionId: string }[],
    ours: readonly { runId: string; generation: number }[],
  ): Promise<void> {
    const held = new Set(ours.map(({ runId, generation }) => `${runId} ${generation}`));
    for (const run of before) {
      if (held.has(`${run.runId} ${run.generation}`)) continue;
      const state = this.runtime.getExecution(run.executionId)?.state;
      if (state !== 'starting' && state !== 'prompting') continue;
      this.logger.warn({ run_id: run.runId, generation: run.generation }, 'run lost to another server');
      this.letGo(run.executionId, 'lost_lease');
    }
  }

  /** Missing twice in a row, so that a claim that is just being handed to its driver is not taken for one that never arrived. */
  private async settleTheOwnerless(ours: readonly { runId: string; generation: number }[]): Promise<void> {
    const now = ours.filter(({ runId, generation }) => !this.live.has(runId, generation));
    const lost = now.filter(({ runId, generation }) => this.ownerless.has(`${runId} ${generation}`));
    this.ownerless = new Set(now.map(({ runId, generation }) => `${runId} ${generation}`));
    if (lost.length === 0) return;
    for (const run of await this.abandoned.ofRuns(lost.map(({ runId }) => runId))) {
      await this.settleOne(run, {});
    }
  }

  /** One that cannot be settled must not keep the others waiting; it is met again at the next renewal. */
  private async settleOne(run: FencedRun, only: { ifLeaseEnded?: boolean }): Promise<void> {
    try {
      const settled = await this.settlement.settle(run, { kind: 'interrupted', cause: 'lost_lease' }, only);
      if (settled !== 'stale') this.logger.warn({ run_id: run.runId, generation: run.generation, settled }, 'run without an owner settled');
    } catch (error) {
      if (isUnavailable(error)) throw error;
      this.logger.error({ run_id: run.runId, err: error }, 'run without an owner could not be settled');
    }
  }

  /** Not within one lease of getting the database back: the owner may only be as late as we are (contract 4). */
  private async settleTheAbandoned(): Promise<void> {
    if (this.reachableSince === Infinity) this.reachableSince = this.clock.monotonicMs();
    if (this.clock.monotonicMs() - this.reachableSince < this.settings.OFFICE_LEASE_SEC * 1_000) return;
    for (const run of await this.abandoned.byOtherHosts(this.host.id)) {
      await this.settleOne(run, { ifLeaseEnded: true });
    }
  }

  private letGo(executionId: string, reason: string): void {
    void this.runtime.stop(executionId, reason).catch((error: unknown) => {
      this.logger.error({ execution_id: executionId, err: error }, 'agent process could not be stopped');
    });
  }

  private get owner() {
    return { hostId: this.host.id, bootId: this.host.bootId, leaseSec: this.settings.OFFICE_LEASE_SEC };
  }

  private async untilAwakened(): Promise<void> {
    if (this.stopping.signal.aborted || this.stopsAsked) return;
    await new Promise<void>((resolve) => {
      const poll = this.clock.after(Math.min(STOP_POLL_MS, this.renewEveryMs), resolve);
      this.awaken = () => {
        poll.cancel();
        resolve();
      };
    });
  }
}
