import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { ALREADY, failedPairsOf, reviveAll, type Fixed, type Fixing } from './fixing.js';
import { holdPairs } from './pair-locks.js';
import { PairRecovery } from './pair-recovery.service.js';

/** `agent_run_failed`: the pair's failures are dealt with, all of them, and it tries again (contract 8). */
@Injectable()
export class FailedRunFixing implements Fixing {
  readonly kind = 'agent_run_failed';

  constructor(private readonly recovery: PairRecovery) {}

  async fix(tx: Tx, itemId: string, userId: string): Promise<Fixed> {
    const failed = await failedPairsOf(tx, [itemId]);
    const [{ pair, sessionId }] = failed as [(typeof failed)[number]];
    const held = await holdPairs(tx, [pair], sessionId === null ? [] : [sessionId]);
    // Asked under the agent's lock, which everybody holds who dismisses: from here on nobody can be faster.
    const [run] = await tx.query<{ dismissed: boolean }>(
      `select failure_dismissed as dismissed from runs where workspace_id = $1 and id = $2`,
      [tx.workspaceId, itemId],
    );
    if (run!.dismissed) return ALREADY;
    const { lifecycle } = held.agent(pair.agentId);
    if (lifecycle !== 'active') throw new OfficeError('agent_not_active', { lifecycle });
    const fixed = await reviveAll(tx, this.recovery, held, failed, userId);
    await this.recovery.resolveInterruptions(tx, [pair]);
    return fixed;
  }
}
