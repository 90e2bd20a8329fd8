import { Injectable, Logger } from '@nestjs/common';
import { AgentRuntime } from '../execution/agent-runtime.js';
import { Clock } from '../platform/clock/clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { Readiness } from '../platform/health/readiness.js';
import { OfficeHost } from '../platform/office-host.js';
import { HostRegistry } from '../workspaces/host-registry.service.js';
import { TaskFolders } from '../worktrees/task-folders.service.js';
import { ClaimLoop } from './claim-loop.service.js';
import type { DrainBody } from './drain.dto.js';
import type { DrainView } from './drain.view.js';
import { LiveRuns } from './live-runs.js';
import { Persistence } from './persistence.js';

/** After the deadline: how often a stop is repeated, and how long the last settlements may wait for the database. */
const STOP_AGAIN_MS = 500;
const LAST_WORDS_MS = 15_000;

/**
 * No more claims, time for the turns under way, then a firm stop: settled as interrupted (contract 4). Either on the way out,
 * or for an admin who goes on being served. Nothing but another start undoes it.
 */
@Injectable()
export class Drain {
  private readonly logger = new Logger(Drain.name);
  private deadlineAt = Infinity;
  private deadlineMoved = new AbortController();
  private drained: Promise<void> | null = null;
  private closing = false;

  constructor(
    private readonly claimLoop: ClaimLoop,
    private readonly live: LiveRuns,
    private readonly runtime: AgentRuntime,
    private readonly folders: TaskFolders,
    private readonly hosts: HostRegistry,
    private readonly persistence: Persistence,
    private readonly readiness: Readiness,
    private readonly host: OfficeHost,
    private readonly settings: OfficeSettings,
    private readonly clock: Clock,
  ) {}

  /** Of this server, which goes on serving. Asked again, the newer deadline counts. */
  async start({ deadline_sec: deadlineSec = this.settings.OFFICE_DRAIN_SEC }: DrainBody): Promise<DrainView> {
    const until = await this.hosts.startDraining(deadlineSec);
    if (until === null) throw new OfficeError('office_not_open');
    this.begin(this.clock.monotonicMs() + deadlineSec * 1_000);
    return { host_id: this.host.id, draining: true, drain_until: until.toISOString(), running: this.live.size };
  }

  /** On the way out: resolves when nothing is held any more, whatever becomes of the database. */
  async toTheEnd(): Promise<void> {
    this.closing = true;
    const deadlineSec = this.settings.OFFICE_DRAIN_SEC;
    await this.hosts.startDraining(deadlineSec).catch((error: unknown) => {
      this.logger.warn({ err: error }, 'draining could not be told');
    });
    this.begin(Math.min(this.deadlineAt, this.clock.monotonicMs() + deadlineSec * 1_000));
    await this.claimLoop.stop();
    // A claim that was under way may have come after the first end of all.
    while (this.live.size > 0) await (this.drained ?? this.emptied());
  }

  private begin(deadlineAt: number): void {
    this.deadlineAt = deadlineAt;
    this.readiness.draining = true;
    if (this.live.size > 0)
      this.logger.log(
        { runs: this.live.size, deadline_sec: Math.round((deadlineAt - this.clock.monotonicMs()) / 1_000) },
        'waiting for turns to end',
      );
    this.deadlineMoved.abort();
    this.deadlineMoved = new AbortController();
    void this.claimLoop.stop().then(() => this.emptied());
  }

  /** One wait for all who ask. */
  private emptied(): Promise<void> {
    this.drained ??= this.empty().finally(() => (this.drained = null));
    return this.drained;
  }

  private async empty(): Promise<void> {
    for (let left = this.left; left > 0 && this.live.size > 0; left = this.left) await this.emptyWithin(left, this.deadlineMoved.signal);
    this.folders.giveUp();
    for (let waited = 0; this.live.size > 0; waited += STOP_AGAIN_MS) {
      // Repeated, because a run may only now get to the launch of its process.
      for (const { executionId } of this.live.all()) void this.runtime.stop(executionId, 'drain_deadline');
      if (this.closing && waited > LAST_WORDS_MS) this.persistence.abandon();
      await this.emptyWithin(STOP_AGAIN_MS);
    }
  }

  private get left(): number {
    return this.deadlineAt - this.clock.monotonicMs();
  }

  private async emptyWithin(ms: number, otherwise?: AbortSignal): Promise<void> {
    const enough = new AbortController();
    const signal = otherwise === undefined ? enough.signal : AbortSignal.any([enough.signal, otherwise]);
    await Promise.race([this.live.empty(), this.clock.sleep(ms, signal)]);
    enough.abort();
  }
}
