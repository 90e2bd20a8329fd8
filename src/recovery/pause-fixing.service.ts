import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
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
    private readonly agents: AgentService,
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

  /** And set. */
  private async clear(tx: Tx, episode: Episode, agent: HeldAgent, userId: string): Promise<void> {
    const pause = { id: agent.id, workspace_id: tx.workspaceId!, pause_source: 'auto', current_pause_id: episode.id } as const;
    await this.agents.endPause(tx, pause, 'mark_fixed');
    await this.dismissals.dismiss(tx, this.kind, episode.id, { userId });
    tx.nudge('work');
    tellPause(tx, episode, 'resolved');
    await this.agents.tellStanding(tx, tx.workspaceId!, agent.id);
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
