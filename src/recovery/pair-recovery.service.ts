import { Injectable } from '@nestjs/common';
import { Dismissals } from '../inbox/dismissals.service.js';
import { Interruptions } from '../inbox/interruptions.service.js';
import type { Tx } from '../platform/database/tx.js';
import type { WakeReason } from '../runs/domain/wake-reason.js';
import { WakeService } from '../runs/wake.service.js';
import { SessionService } from '../sessions/session.service.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { whySkipped, type Entitlement, type Skip } from './domain/skip.js';
import { holdPairs, taskOf, type Held, type Pair } from './pair-locks.js';

/** A pair with what the run that failed had: its right to be there, and, without a task, its session. */
export interface FailedPair {
  readonly pair: Pair;
  readonly entitlement: Entitlement;
  readonly sessionId: string | null;
}

export type Revival = { readonly runId: string } | { readonly skipped: Skip };

/** Moves failed pairs on. Only ever for a person: agents and the system never recover anything (contract 3, 8). */
@Injectable()
export class PairRecovery {
  constructor(
    private readonly sessions: SessionService,
    private readonly dismissals: Dismissals,
    private readonly interruptions: Interruptions,
    private readonly wakes: WakeService,
  ) {}

  /** FAILED sessions back to rest, the pairs' open failure items dismissed by that person. Nothing failed: nothing changes. */
  async recover(tx: Tx, pairs: readonly Pair[], userId: string): Promise<void> {
    if (pairs.length === 0) return;
    await holdPairs(tx, pairs);
    for (const pair of pairs) await this.recoverHeld(tx, { pair, sessionId: null }, userId);
    await this.resolveInterruptions(tx, pairs);
  }

  /**
   * A person says the cause is gone: as `recover`, and the pair is woken. A run of it that is under way or waits already is
   * joined, and named. The caller holds the pair, and resolves the interruptions when it has dealt with all of its pairs.
   */
  async revive(tx: Tx, held: Held, failed: FailedPair, userId: string, reason: WakeReason): Promise<Revival> {
    const { pair, entitlement } = failed;
    await this.recoverHeld(tx, failed, userId);
    const skipped = whySkipped(held.task(pair), pair.agentId, entitlement) ?? whyAgentSleeps(held, pair.agentId);
    if (skipped !== null) return { skipped };
    const live = held.inFlight(pair).find(({ status, stopping }) => status === 'running' && !stopping);
    if (live !== undefined) return { runId: live.id };
    const on = 'taskId' in pair ? { taskId: pair.taskId } : { scope: pair.scope };
    const answer = await this.wakes.wake(tx, { agentId: pair.agentId, on, reason, actor: { kind: 'user', id: userId } });
    // Thrown, so that nothing of a refused request stays behind, not even the recovery.
    if (answer.outcome === 'refused') throw new OfficeError('wake_refused', { reason: answer.refusedReason });
    return { runId: answer.runId };
  }

  async resolveInterruptions(tx: Tx, pairs: readonly Pair[]): Promise<void> {
    for (const agentId of new Set(pairs.map((pair) => pair.agentId))) {
      const taskIds = pairs.filter((pair) => pair.agentId === agentId).map(taskOf);
      await this.interruptions.resolveWhatIsOver(
        tx,
        taskIds.length === 1 && taskIds[0] != null ? { agentId, taskId: taskIds[0] } : { agentId },
      );
    }
  }

  private async recoverHeld(tx: Tx, { pair, sessionId }: Pick<FailedPair, 'pair' | 'sessionId'>, userId: string): Promise<void> {
    if ('taskId' in pair) await this.sessions.recoverFailed(tx, tx.workspaceId!, pair);
    else if (sessionId !== null) await this.sessions.recoverTaskless(tx, tx.workspaceId!, sessionId);
    const { agentId } = pair;
    await this.dismissals.dismissFailures(tx, 'taskId' in pair ? { agentId, taskId: pair.taskId } : { agentId, scope: pair.scope }, {
      userId,
    });
  }
}

function whyAgentSleeps(held: Held, agentId: string): Skip | null {
  const { lifecycle } = held.agent(agentId);
  return lifecycle === 'active' ? null : (`agent_${lifecycle}` as const);
}
