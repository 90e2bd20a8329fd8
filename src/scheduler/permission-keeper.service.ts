import { Injectable, Logger } from '@nestjs/common';
import { AgentRuntime, ExecutionError, type ExecutionEvent } from '../execution/agent-runtime.js';
import type { PermissionDecision } from '../inbox/domain/permission-decision.js';
import { PermissionRequests } from '../inbox/permission-requests.service.js';
import { Clock } from '../platform/clock/clock.js';
import { Nudges } from '../platform/database/nudges.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { ClaimedRun } from '../runs/claim.js';
import { RunSecrets } from '../transcript/run-secrets.service.js';
import { Persistence } from './persistence.js';

/** Contract 12: then it is denied. */
const WAIT_SEC = 30 * 60;
/** The runtime denies by itself after this, should the database be away when the time is over. */
export const PERMISSION_MS = (WAIT_SEC + 60) * 1_000;
/** A lost nudge, and a time that is over, are found within this. */
const POLL_MS = 1_000;

type Asked = Extract<ExecutionEvent, { type: 'permission_requested' }>;

interface Waiting {
  readonly run: ClaimedRun;
  /** Settled once the request stands in the database, or never will. */
  opened: Promise<void>;
}

interface Look {
  readonly id: string;
  readonly decision: PermissionDecision | null;
  readonly closed: boolean;
  readonly late: boolean;
}

/**
 * Between the agents of this server that wait for a permission and the inbox: puts their requests there, and brings back what
 * was decided, wherever that was. What it cannot put there is denied, since nobody could ever answer it.
 */
@Injectable()
export class PermissionKeeper {
  private readonly logger = new Logger(PermissionKeeper.name);
  private readonly waiting = new Map<string, Waiting>();
  private poll: { cancel(): void } | null = null;
  private looking = false;
  private again = false;

  constructor(
    private readonly runtime: AgentRuntime,
    private readonly requests: PermissionRequests,
    private readonly unitOfWork: UnitOfWork,
    private readonly persistence: Persistence,
    private readonly secrets: RunSecrets,
    private readonly clock: Clock,
    nudges: Nudges,
  ) {
    nudges.on('permission', () => void this.look());
    nudges.onEverything(() => void this.look());
  }

  /** Takes what a run's execution tells of permissions; everything else is none of its business. */
  heed(run: ClaimedRun, event: ExecutionEvent): void {
    if (event.type === 'permission_requested' && event.waits) this.ask(run, event);
    else if (event.type === 'permission_answered') void this.withdraw(event.requestId);
  }

  /** The run has ended, and its requests with it. */
  forget(run: ClaimedRun): void {
    for (const [requestId, waiting] of this.waiting) if (waiting.run === run) this.waiting.delete(requestId);
  }

  private ask(run: ClaimedRun, { requestId, about }: Asked): void {
    const shown = this.secrets.of(run).maskJson(about) as Asked['about'];
    const waiting: Waiting = { run, opened: Promise.resolve() };
    this.waiting.set(requestId, waiting);
    waiting.opened = this.persistence
      .untilHeard(() => this.unitOfWork.run(run.workspaceId, (tx) => this.requests.open(tx, run, { requestId, ...shown }, WAIT_SEC)))
      .then(
        (opened) => {
          if (opened === 'opened') this.pollSoon();
          else this.deliver(requestId, opened === 'granted' ? 'allow_always' : 'deny');
        },
        (error: unknown) => {
          this.logger.error({ run_id: run.runId, request_id: requestId, err: error }, 'permission request could not be stored');
          this.deliver(requestId, 'deny');
        },
      );
  }

  /** Of a request that was delivered nothing is left to say. */
  private async withdraw(requestId: string): Promise<void> {
    const waiting = this.waiting.get(requestId);
    if (waiting === undefined) return;
    this.waiting.delete(requestId);
    try {
      await waiting.opened;
      await this.persistence.untilHeard(() => this.unitOfWork.run(waiting.run.workspaceId, (tx) => this.requests.withdraw(tx, requestId)));
    } catch (error) {
      // It goes with its run at the latest.
      this.logger.warn({ run_id: waiting.run.runId, request_id: requestId, err: error }, 'permission request could not be closed');
    }
  }

  private deliver(requestId: string, decision: PermissionDecision): void {
    const waiting = this.waiting.get(requestId);
    if (waiting === undefined) return;
    this.waiting.delete(requestId);
    void this.runtime.answerPermission(waiting.run.executionId, requestId, decision).catch((error: unknown) => {
      // Its turn has ended in the meantime.
      if (error instanceof ExecutionError) return;
      this.logger.error({ run_id: waiting.run.runId, request_id: requestId, err: error }, 'permission could not be answered');
    });
  }

  private pollSoon(): void {
    if (this.poll !== null || this.waiting.size === 0) return;
    this.poll = this.clock.after(POLL_MS, () => {
      this.poll = null;
      void this.look();
    });
  }

  /** One look at a time; one that is asked for meanwhile follows. */
  private async look(): Promise<void> {
    this.again = true;
    if (this.looking) return;
    this.looking = true;
    try {
      while (this.again && this.waiting.size > 0) {
        this.again = false;
        await this.lookOnce();
      }
    } catch (error) {
      // The next look comes anyway, and a database that is away is reported by the loops.
      this.logger.debug({ err: error }, 'permission answers could not be read');
    } finally {
      this.looking = false;
      this.pollSoon();
    }
  }

  private async lookOnce(): Promise<void> {
    const rows = await this.unitOfWork.read<Look>(
      `select id, decision, closed_at is not null as closed, closed_at is null and expires_at <= clock_timestamp() as late
         from permission_requests where id = any($1::uuid[]) and (closed_at is not null or expires_at <= clock_timestamp())`,
      [[...this.waiting.keys()]],
    );
    for (const { id, decision, closed, late } of rows) {
      const waiting = this.waiting.get(id);
      if (waiting === undefined) continue;
      if (late) await this.unitOfWork.run(waiting.run.workspaceId, (tx) => this.requests.expire(tx, id));
      else if (closed) this.deliver(id, decision ?? 'deny');
    }
  }
}
