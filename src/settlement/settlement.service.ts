import { Injectable } from '@nestjs/common';
import type { Evidence, Usage } from '../execution/agent-runtime.js';
import { summary } from '../execution/domain/error-payload.js';
import { failedTitle } from '../inbox/domain/item-title.js';
import { Interruptions } from '../inbox/interruptions.service.js';
import { Batches } from '../platform/database/batches.js';
import { brokenConstraint } from '../platform/database/sqlstate.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { cutBytes } from '../platform/text/storable.js';
import { RunOwnership } from '../runs/run-ownership.service.js';
import { isOver, restOf } from '../sessions/domain/session-state.js';
import { CommentService } from '../tasks/comment.service.js';
import { endingOf, sessionAfter, type Ending, type Result } from './domain/ending.js';
import { FailureRecorder } from './failure-recorder.service.js';
import { SettlementRepository, type LockedRun, type SettledRun } from './settlement.repository.js';
import { tellAgent, tellRun, tellSession } from './tell.js';

const EVENT_TEXT_BYTES = 4 * 1024;
const COMMENT_BYTES = 32 * 1024;
/** How many ends may share a transaction: enough to share commits under load, few enough to hold locks briefly. */
const TOGETHER = 16;

interface End {
  readonly run: SettledRun;
  readonly result: Result;
  /** Asked by somebody else than the owner: a lease that was renewed meanwhile keeps the run (contract 4). */
  readonly onlyIfLeaseEnded: boolean;
}

interface Judged extends End {
  readonly locked: LockedRun;
  readonly ending: Ending;
}

interface Resolved {
  readonly item_id: string;
  readonly agent_id: string;
}

/** `stale`: the run was not this owner's any more; nothing changed but, once, the attempt's late result. */
export type Settled = Ending['status'] | 'merged' | 'stale';

/**
 * The one seam through which a run ends: one transaction, guarded by (run, generation, running), safe to repeat
 * (contract 5). Everything a run's end does to its session, task, agent and inbox happens here or not at all.
 */
@Injectable()
export class SettlementService {
  private readonly batches = new Map<string, Batches<End, Settled>>();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly ownership: RunOwnership,
    private readonly rows: SettlementRepository,
    private readonly failures: FailureRecorder,
    private readonly interruptions: Interruptions,
    private readonly comments: CommentService,
  ) {}

  /** Settlements of one workspace that come at the same time share a transaction, at most one of each agent. */
  settle(run: SettledRun, result: Result, only: { ifLeaseEnded?: boolean } = {}): Promise<Settled> {
    let batches = this.batches.get(run.workspaceId);
    if (batches === undefined) {
      batches = new Batches(
        (ends) => this.settleTogether(run.workspaceId, ends),
        TOGETHER,
        (end) => end.run.agentId,
        () => this.batches.delete(run.workspaceId),
      );
      this.batches.set(run.workspaceId, batches);
    }
    return batches.ask({ run, result, onlyIfLeaseEnded: only.ifLeaseEnded ?? false });
  }

  private async settleTogether(workspaceId: string, ends: readonly End[]): Promise<Settled[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.unitOfWork.run(workspaceId, (tx) => this.settleIn(tx, ends));
      } catch (error) {
        // A wake queued the pair's next run between our look and our write; the next look finds it and merges.
        if (attempt === 5 || !brokenConstraint(error)?.startsWith('runs_one_waiting_per_')) throw error;
      }
    }
  }

  private async settleIn(tx: Tx, ends: readonly End[]): Promise<Settled[]> {
    const rows = await this.rows.lock(
      tx,
      ends.map(({ run }) => run),
    );
    const judged = ends.map((end) => {
      const { run, result, onlyIfLeaseEnded } = end;
      const locked = rows.get(run.runId);
      const ours = locked !== undefined && locked.run.status === 'running' && locked.run.generation === run.generation;
      return ours && (locked.run.leaseEnded || !onlyIfLeaseEnded)
        ? { ...end, locked, ending: endingOf(result, locked.run) }
        : { ...end, locked: null };
    });
    const resolved = await this.completeAll(tx, judged);
    const settled: Settled[] = [];
    for (const one of judged) settled.push(one.locked === null ? await this.tooLate(tx, one) : await this.end(tx, one, resolved));
    return settled;
  }

  private async tooLate(tx: Tx, { run, result, onlyIfLeaseEnded }: End): Promise<Settled> {
    if (!onlyIfLeaseEnded) await this.rows.keepLate(tx, run.runId, run.generation, lateResult(result));
    return 'stale';
  }

  private async end(tx: Tx, { run, locked, ending, result }: Judged, resolved: readonly Resolved[]): Promise<Settled> {
    tx.nudge('work');
    if (ending.status !== 'completed' && run.unrecordedStart !== undefined) await this.ownership.recordStart(tx, run, run.unrecordedStart);
    switch (ending.status) {
      case 'completed':
        return this.complete(tx, run, locked, ending, resolved);
      case 'cancelled':
        return this.cancel(tx, run, locked, ending);
      case 'queued':
        return this.requeue(tx, run, locked);
      case 'failed':
      case 'timed_out':
        return this.fail(tx, run, locked, ending, result);
    }
  }

  /** The rows of all good ends in one statement. What is told of each follows in its place. */
  private async completeAll(tx: Tx, judged: readonly (Judged | { readonly locked: null })[]): Promise<Resolved[]> {
    const good = [];
    for (const one of judged) {
      if (one.locked === null || one.ending.status !== 'completed') continue;
      const { run, locked, ending } = one;
      const session = sessionAfter(ending, locked.session.state, restOf(true));
      good.push({ run, stopReason: ending.stopReason, usage: usageRow(ending.usage), session });
    }
    return this.rows.complete(tx, good);
  }

  private async complete(
    tx: Tx,
    run: SettledRun,
    locked: LockedRun,
    ending: Ending & { status: 'completed' },
    resolved: readonly Resolved[],
  ): Promise<Settled> {
    if (
      run.taskId !== null &&
      ending.lastMessage !== null &&
      !locked.task?.over &&
      !(await this.rows.postedComment(tx, run.runId, run.taskId))
    ) {
      await this.comments.addFromSession(tx, {
        workspaceId: run.workspaceId,
        taskId: run.taskId,
        agentId: run.agentId,
        runId: run.runId,
        body: cutBytes(ending.lastMessage, COMMENT_BYTES),
      });
    }
    tellRun(tx, run, 'completed');
    tellSession(tx, run, sessionAfter(ending, locked.session.state, restOf(true)));
    for (const { item_id } of resolved.filter(({ agent_id }) => agent_id === run.agentId)) {
      tx.emit('office.inbox_item', {
        kind: 'agent_run_failed',
        item_id,
        agent_id: run.agentId,
        ...(run.taskId === null ? {} : { task_ids: [run.taskId] }),
        title: failedTitle(locked.agent.name, locked.task),
        change: 'resolved',
      });
    }
    await this.failures.overcome(tx, run, locked);
    tellAgent(tx, locked.agent, { failures: 0 });
    return 'completed';
  }

  private async cancel(tx: Tx, run: SettledRun, locked: LockedRun, ending: Ending & { status: 'cancelled' }): Promise<Settled> {
    const session = sessionAfter(ending, locked.session.state, restOf(true));
    await this.rows.end(tx, run, {
      status: 'cancelled',
      outcome: 'stopped',
      cancelReason: ending.cancelReason,
      failureKind: null,
      errorMessage: null,
      errorSummary: null,
      evidence: null,
      session,
      endsSession: isOver(session),
    });
    tellRun(tx, run, 'cancelled');
    tellSession(tx, run, session);
    tellAgent(tx, locked.agent);
    return 'cancelled';
  }

  private async requeue(tx: Tx, run: SettledRun, locked: LockedRun): Promise<Settled> {
    const session = restOf(true);
    const survivor = await this.rows.requeue(tx, { ...run, scope: locked.run.scope }, session);
    tellRun(tx, run, survivor === null ? 'queued' : 'cancelled');
    tellSession(tx, run, session);
    tellAgent(tx, locked.agent);
    return survivor === null ? 'queued' : 'merged';
  }

  private async fail(
    tx: Tx,
    run: SettledRun,
    locked: LockedRun,
    ending: Ending & { status: 'failed' | 'timed_out' },
    result: Result,
  ): Promise<Settled> {
    const short = summary(ending.payload);
    await this.rows.end(tx, run, {
      status: ending.status,
      outcome: ending.kind === 'interrupted' ? 'interrupted' : ending.status === 'timed_out' ? 'timed_out' : 'error',
      cancelReason: null,
      failureKind: ending.kind,
      errorMessage: ending.payload,
      errorSummary: short,
      evidence: 'evidence' in result ? evidenceRow(result.evidence) : null,
      session: 'FAILED',
      endsSession: false,
    });
    const movedTask = run.taskId !== null && (await this.rows.toReview(tx, run.taskId));
    const error_message = cutBytes(ending.payload, EVENT_TEXT_BYTES);
    tellRun(tx, run, ending.status, error_message);
    tellSession(tx, run, 'FAILED', error_message);
    if (movedTask) tx.emit('office.task.updated', { task_id: run.taskId!, fields: ['state'] });
    if (ending.kind === 'interrupted') {
      const { hostId, bootId } = locked.run;
      await this.interruptions.add(tx, run.runId, { hostId: hostId!, bootId: bootId!, cause: ending.cause });
      tellAgent(tx, locked.agent);
    } else {
      await this.failures.count(tx, run, locked, short);
    }
    return ending.status;
  }
}

const usageRow = (usage: Usage | null): object | null =>
  usage === null ? null : { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens, total_tokens: usage.totalTokens };

/** As it is stored and shown: wire names. */
const evidenceRow = (evidence: Evidence | null): object | null =>
  evidence && {
    execution_id: evidence.executionId,
    acp_session_id: evidence.acpSessionId,
    phase: evidence.phase,
    output_seen: evidence.outputSeen,
    effect_seen: evidence.effectSeen,
    exit: evidence.exit,
    stderr_tail: evidence.stderrTail,
    stdout_noise: evidence.stdoutNoise,
    record: evidence.record,
  };

/** What is kept of a result that came too late: enough to see what happened, without the bulk. */
function lateResult(result: Result): object {
  switch (result.kind) {
    case 'turn_ended':
      return { kind: result.kind, stop_reason: result.stopReason, usage: usageRow(result.usage), last_message: result.lastMessage };
    case 'error':
    case 'timed_out':
      return { kind: result.kind, payload: cutBytes(result.payload, 64 * 1024) };
    case 'stopped':
      return { kind: result.kind, reason: result.reason };
    case 'interrupted':
      return { kind: result.kind, cause: result.cause };
  }
}
