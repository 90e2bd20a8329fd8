import { Injectable } from '@nestjs/common';
import { Interruptions } from '../inbox/interruptions.service.js';
import { STILL_INTERRUPTED } from '../inbox/open-items.sql.js';
import type { Tx } from '../platform/database/tx.js';
import { whySkipped } from './domain/skip.js';
import { ALREADY, failedPairsOf, reviveAll, type Fixed, type Fixing } from './fixing.js';
import { holdPairs, keyOf, pairOf } from './pair-locks.js';
import { PairRecovery } from './pair-recovery.service.js';

/** `runs_interrupted`: everything the interruption took down goes on, except what somebody has dealt with meanwhile (contract 8). */
@Injectable()
export class InterruptionFixing implements Fixing {
  readonly kind = 'runs_interrupted';

  constructor(
    private readonly recovery: PairRecovery,
    private readonly interruptions: Interruptions,
  ) {}

  async fix(tx: Tx, interruptionId: string, userId: string): Promise<Fixed> {
    const runIds = await this.runsOf(tx, interruptionId);
    const failed = await failedPairsOf(tx, runIds);
    const pairs = failed.map(({ pair }) => pair);
    const held = await holdPairs(
      tx,
      pairs,
      failed.flatMap(({ sessionId }) => sessionId ?? []),
    );
    const open = await this.interruptions.holdOpen(tx, interruptionId);
    if (open === null) return ALREADY;
    const waiting = await this.stillInterrupted(tx, runIds);
    await this.interruptions.resolve(tx, open, userId);
    const fixed = await reviveAll(tx, this.recovery, held, failed, userId, ({ pair, entitlement }) =>
      waiting.has(keyOf(pair)) ? null : (whySkipped(held.task(pair), pair.agentId, entitlement) ?? 'already_resumed'),
    );
    await this.recovery.resolveInterruptions(tx, pairs);
    return fixed;
  }

  private async runsOf(tx: Tx, interruptionId: string): Promise<string[]> {
    const runs = await tx.query<{ run_id: string }>(
      `select run_id from interruption_runs where workspace_id = $1 and interruption_id = $2 order by run_id`,
      [tx.workspaceId, interruptionId],
    );
    return runs.map(({ run_id }) => run_id);
  }

  private async stillInterrupted(tx: Tx, runIds: readonly string[]): Promise<ReadonlySet<string>> {
    const runs = await tx.query<{ agent_id: string; task_id: string | null; scope: string | null }>(
      `select r.agent_id, r.task_id, r.scope from runs r where r.workspace_id = $1 and r.id = any($2::uuid[]) and ${STILL_INTERRUPTED}`,
      [tx.workspaceId, runIds],
    );
    return new Set(runs.map((run) => keyOf(pairOf(run))));
  }
}
