import { Injectable } from '@nestjs/common';
import { Dismissals } from '../inbox/dismissals.service.js';
import type { Tx } from '../platform/database/tx.js';
import { SessionService } from '../sessions/session.service.js';

export interface Pair {
  readonly taskId: string;
  readonly agentId: string;
}

/** Moves a failed pair on. Only ever for a person: agents and the system never recover anything (contract 3, 8). */
@Injectable()
export class PairRecovery {
  constructor(
    private readonly sessions: SessionService,
    private readonly dismissals: Dismissals,
  ) {}

  /** FAILED session back to rest, the pair's open failure items dismissed by that person. Nothing failed: nothing changes. */
  async recover(tx: Tx, { taskId, agentId }: Pair, userId: string): Promise<void> {
    await this.sessions.recoverFailed(tx, tx.workspaceId!, { taskId, agentId });
    await lockAgent(tx, agentId);
    await this.dismissals.dismissFailures(tx, { agentId, taskId }, { userId });
  }
}

/** Whoever dismisses failure items holds the agent, so that a pause being decided and a dismissal cannot pass each other. */
export async function lockAgent(tx: Tx, agentId: string): Promise<void> {
  await tx.query(`select id from agent_instances where workspace_id = $1 and id = $2 for no key update`, [tx.workspaceId, agentId]);
}
