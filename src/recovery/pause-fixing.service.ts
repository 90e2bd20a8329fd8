import { Injectable } from '@nestjs/common';
import { statusOf } from '../agents/domain/agent-status.js';
import { Dismissals, tellPause, type PauseEpisode } from '../inbox/dismissals.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { ALREADY, failedPairsOf, reviveAll, type Fixed, type Fixing } from './fixing.js';
import { holdAgents, holdPairs, type HeldAgent } from './pair-locks.js';
import { PairRecovery } from './pair-recovery.service.js';

interface Episode extends PauseEpisode {
  readonly closed_by: 'mark_fixed' | 'unpaused' | 'replaced' | 'archived' | null;
}

/** `agent_paused_after_failures`: the pause ends, the counter begins anew, everything in the episode tries again (contract 8). */
@Injectable()
export class PauseFixing implements Fixing {
  readonly kind = 'agent_paused_after_failures';

  constructor(
    private readonly recovery: PairRecovery,
    private readonly dismissals: Dismissals,
  ) {}

  async fix(tx: Tx, pauseId: string, userId: string): Promise<Fixed> {
    const asRead = await this.episode(tx, pauseId);
    const failed = await failedPairsOf(
      tx,
      asRead.affected.map(({ run_id }) => run_id),
    );
    const sessions = failed.flatMap(({ sessionId }) => sessionId ?? []);
    const held = await holdPairs(
      tx,
      failed.map(({ pair }) => pair),
      sessions,
    );
    const agent = (await holdAgents(tx, [asRead.agent_id])).get(asRead.agent_id)!;
    // Compare: only whoever finds the agent in this very episode, under its lock, may end it. The list of an episode never changes.
    const episode = await this.episode(tx, pauseId);
    if (episode.closed_by === 'mark_fixed') return ALREADY;
    assertCurrent(episode, agent);
    await this.clear(tx, episode, agent, userId);
    const fixed = await reviveAll(tx, this.recovery, held, failed, userId);
    await this.recovery.resolveInterruptions(
      tx,
      failed.map(({ pair }) => pair),
    );
    return fixed;
  }

  private async episode(tx: Tx, pauseId: string): Promise<Episode> {
    const [episode] = await tx.query<Episode>(
      `select p.id, p.agent_id, a.name as agent_name, p.failures, p.affected, p.closed_by
         from agent_pauses p join agent_instances a on a.id = p.agent_id where p.workspace_id = $1 and p.id = $2`,
      [tx.workspaceId, pauseId],
    );
    return episode!;
  }

  /** And set. `unblocked_at`: what waited behind the pause did not grow old by its own fault. */
  private async clear(tx: Tx, episode: Episode, agent: HeldAgent, userId: string): Promise<void> {
    await tx.query(
      `update agent_instances
          set pause_reason = null, pause_source = null, paused_at = null, current_pause_id = null, consecutive_failures = 0,
              unblocked_at = now(), updated_at = now()
        where workspace_id = $1 and id = $2 and current_pause_id = $3 and pause_source = 'auto'`,
      [tx.workspaceId, agent.id, episode.id],
    );
    await tx.query(
      `update agent_pauses set closed_at = now(), closed_by = 'mark_fixed' where workspace_id = $1 and id = $2 and closed_at is null`,
      [tx.workspaceId, episode.id],
    );
    await this.dismissals.dismiss(tx, this.kind, episode.id, { userId });
    tx.nudge('work');
    tellPause(tx, episode, 'resolved');
    tx.emit('office.agent.updated', {
      agent_id: agent.id,
      status: statusOf({ lifecycle: agent.lifecycle, pauseSource: null, liveSessions: agent.liveRuns }),
      pause_reason: null,
      consecutive_failures: 0,
    });
  }
}

/** The newer episode, or the person's pause, stays as it is and stays actionable (001.9, 001.10). */
function assertCurrent(episode: Episode, agent: HeldAgent): void {
  if (agent.lifecycle !== 'active') throw new OfficeError('agent_not_active', { lifecycle: agent.lifecycle });
  if (episode.closed_by !== null || agent.currentPauseId !== episode.id) {
    throw new OfficeError('pause_changed', { item_id: episode.id, current_item_id: agent.currentPauseId });
  }
  if (agent.pauseSource === 'person') throw new OfficeError('paused_by_person', { pause_reason: agent.pauseReason });
}
