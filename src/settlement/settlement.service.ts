import { Injectable, Logger } from '@nestjs/common';
import { failedTitle } from '../inbox/domain/item-title.js';
import { closeRequestsOf } from '../inbox/permission-requests.service.js';
import { ProviderHolds } from '../inbox/provider-holds.service.js';
import { Batches } from '../platform/database/batches.js';
import { brokenConstraint } from '../platform/database/sqlstate.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { cutBytes } from '../platform/text/storable.js';
import { RunOwnership } from '../runs/run-ownership.service.js';
import { StoredWakes } from '../runs/stored-wakes.service.js';
import { isOver } from '../sessions/domain/session-state.js';
import { CommentService } from '../tasks/comment.service.js';
import { endingOf, sessionAfter, toldBefore, type Ending, type Result, type Settled } from './domain/ending.js';
import { FailureEnding } from './failure-ending.service.js';
import { lateResult, usageIn, usageRow } from './result-rows.js';
import { RetryRepository } from './retry.repository.js';
import { restAfter, SettlementRepository, type LockedRun, type SettledRun } from './settlement.repository.js';
import { SignalEnding } from './signal-ending.service.js';
import { tellAgent, tellRun, tellSession } from './tell.js';

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

/**
 * The one seam through which a run ends: one transaction, guarded by (run, generation, running), safe to repeat
 * (contract 5). Everything a run's end does to its session, task, agent and inbox happens here or not at all.
 */
@Injectable()
export class SettlementService {
  private readonly logger = new Logger(SettlementService.name);
  private readonly batches = new Map<string, Batches<End, Settled>>();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly ownership: RunOwnership,
    private readonly rows: SettlementRepository,
    private readonly failures: FailureEnding,
    private readonly comments: CommentService,
    private readonly retries: RetryRepository,
    private readonly holds: ProviderHolds,
    private readonly storedWakes: StoredWakes,
    private readonly signals: SignalEnding,
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

  /**
   * A retry that the claim found too old (contract 4, `run_too_old`): it fails after all, with the payload of its last attempt,
   * counted once. `stale`: it is not too old any more, or not there.
   */
  async giveUp(run: SettledRun): Promise<'failed' | 'stale'> {
    const settled = await this.unitOfWork.run(run.workspaceId, async (tx): Promise<'failed' | 'stale'> => {
      const locked = (await this.rows.lock(tx, [run])).get(run.runId);
      if (locked === undefined || !(await this.failures.giveUp(tx, run, locked))) return 'stale';
      tx.nudge('work');
      return 'failed';
    });
    if (settled === 'failed') await this.placeWakes(run.workspaceId);
    return settled;
  }

  /** Wakes that a settle stored. If they cannot be placed now they are placed by the next round that looks for them. */
  private async placeWakes(workspaceId: string): Promise<void> {
    await this.storedWakes.place(workspaceId).catch((error: unknown) => {
      this.logger.warn({ workspace_id: workspaceId, err: error }, 'stored wakes could not be looked for');
    });
  }

  private async settleTogether(workspaceId: string, ends: readonly End[]): Promise<Settled[]> {
    const { settled, wakesStored } = await this.settleAll(workspaceId, ends);
    if (wakesStored) await this.placeWakes(workspaceId);
    return settled;
  }

  private async settleAll(workspaceId: string, ends: readonly End[]): Promise<{ settled: Settled[]; wakesStored: boolean }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.unitOfWork.run(workspaceId, (tx) => this.settleIn(tx, ends));
      } catch (error) {
        // A wake queued the pair's next run between our look and our write; the next look finds it and merges.
        if (attempt === 5 || !brokenConstraint(error)?.startsWith('runs_one_waiting_per_')) throw error;
      }
    }
  }

  private async settleIn(tx: Tx, ends: readonly End[]): Promise<{ settled: Settled[]; wakesStored: boolean }> {
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
    // Of failures, of tasks that have moved on: to look for one that is not there costs one statement.
    const wakesStored = settled.some((one) => one === 'failed' || one === 'timed_out') || judged.some(mayMoveTask);
    return { settled, wakesStored };
  }

  /**
   * Nothing changes, except that the result is kept. Unless this very result has been heard before, and its owner lost its connection
   * before it learnt of the commit: then the answer is what it would have been. What others may have settled in its place (a
   * stop, an interruption) cannot be told from that, and counts as theirs.
   */
  private async tooLate(tx: Tx, { run, result, onlyIfLeaseEnded }: End): Promise<Settled> {
    if (onlyIfLeaseEnded) return 'stale';
    if (result.kind === 'turn_ended' || result.kind === 'error' || result.kind === 'timed_out') {
      const payload = result.kind === 'turn_ended' ? null : result.payload;
      const now = await this.rows.cameTo(tx, run, { outcome: result.kind, payload });
      if (now !== null) return toldBefore(result.kind, run.generation, now);
    }
    await this.rows.keepLate(tx, run.runId, run.generation, lateResult(result));
    return 'stale';
  }

  private async end(tx: Tx, { run, locked, ending, result }: Judged, resolved: readonly Resolved[]): Promise<Settled> {
    tx.nudge('work');
    const usage = ending.status === 'completed' ? null : usageIn(result);
    if (usage !== null) await this.rows.writeUsage(tx, run, usage);
    if (locked.run.asks) await closeRequestsOf(tx, run.runId);
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
        return this.failures.fail(tx, run, locked, ending, result);
    }
  }

  /** The rows of all good ends in one statement. What is told of each follows in its place. */
  private async completeAll(tx: Tx, judged: readonly (Judged | { readonly locked: null })[]): Promise<Resolved[]> {
    const good = [];
    let unheard = true;
    for (const one of judged) {
      if (one.locked === null || one.ending.status !== 'completed') continue;
      const { run, locked, ending } = one;
      unheard &&= !locked.agent.hasOpenFailures && !mayMoveTask(one);
      const session = sessionAfter(ending, locked.session.state, restAfter(locked));
      good.push({ run, stopReason: ending.stopReason, usage: usageRow(ending.usage), session });
    }
    return this.rows.complete(tx, good, unheard);
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
    tellSession(tx, run, sessionAfter(ending, locked.session.state, restAfter(locked)));
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
    await this.signals.turnEnded(tx, run, locked);
    await this.failures.overcome(tx, run, locked);
    if (locked.run.wentFirst) await this.holds.firstHasEnded(tx, run.runId);
    tellAgent(tx, locked.agent, { failures: 0 });
    return 'completed';
  }

  private async cancel(tx: Tx, run: SettledRun, locked: LockedRun, ending: Ending & { status: 'cancelled' }): Promise<Settled> {
    const session = sessionAfter(ending, locked.session.state, restAfter(locked));
    await this.rows.end(tx, run, {
      status: 'cancelled',
      outcome: 'stopped',
      cancelReason: ending.cancelReason,
      failureKind: null,
      errorMessage: null,
      errorSummary: null,
      diagnosis: null,
      evidence: null,
      session,
      endsSession: isOver(session),
    });
    tellRun(tx, run, 'cancelled');
    tellSession(tx, run, session);
    if (ending.cancelReason === 'signal_reclaimed') await this.signals.turnEnded(tx, run, locked);
    tellAgent(tx, locked.agent);
    return 'cancelled';
  }

  private async requeue(tx: Tx, run: SettledRun, locked: LockedRun): Promise<Settled> {
    const session = restAfter(locked);
    const survivor = await this.retries.waitAgain(tx, { ...run, scope: locked.run.scope }, session);
    tellRun(tx, run, survivor === null ? (locked.run.retryCount > 0 ? 'scheduled_retry' : 'queued') : 'cancelled');
    tellSession(tx, run, session);
    tellAgent(tx, locked.agent);
    return survivor === null ? 'queued' : 'merged';
  }
}

/** Its task may have gone to another step with it. */
const mayMoveTask = ({ locked }: { readonly locked: LockedRun | null }): boolean =>
  locked !== null && (locked.session.signaled || locked.task?.ends_with_turn === true);
