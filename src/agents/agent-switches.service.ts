import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { AgentDirectory } from './agent-directory.service.js';
import { AgentReactions } from './agent-reactions.js';
import { AgentRepository } from './agent.repository.js';
import type { WholeAgentRow } from './agent.repository.js';
import { AgentService } from './agent.service.js';
import type { AgentView } from './agent.view.js';
import { switched } from './domain/agent-status.js';
import type { LifecycleSwitch } from './domain/agent-status.js';

const DEFAULT_REASON = 'Paused by a person';

/** Whether an agent works. Every switch may be pressed twice: the second time changes and tells nothing. */
@Injectable()
export class AgentSwitches {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly agents: AgentRepository,
    private readonly standing: AgentService,
    private readonly directory: AgentDirectory,
    private readonly reactions: AgentReactions,
  ) {}

  /** Stops claims, not what runs. Over an automatic pause it is a person's from now on, and the episode stays open. */
  pause(workspaceId: string, agentId: string, reason: string | undefined): Promise<AgentView> {
    return this.press(workspaceId, agentId, async (tx, agent) => {
      const isPersons = agent.pause_source === 'person';
      if (isPersons && (reason === undefined || reason === agent.pause_reason)) return false;
      await this.agents.pauseByPerson(tx, agent, reason ?? DEFAULT_REASON);
      return true;
    });
  }

  /** Whatever the pause: the counter stays, nothing is queued, what waited may be claimed (contract 8). */
  unpause(workspaceId: string, agentId: string): Promise<AgentView> {
    return this.press(workspaceId, agentId, (tx, agent) => this.liftPause(tx, agent));
  }

  /** The part of it for a caller that has locked the agent and tells how it stands. False: it was not paused. */
  async liftPause(tx: Tx, agent: WholeAgentRow): Promise<boolean> {
    if (agent.pause_source === null) return false;
    const closedPauseId = await this.agents.endPause(tx, agent, 'unpaused');
    await this.reactions.unpaused(tx, { id: agent.id, closedPauseId });
    tx.nudge('work');
    return true;
  }

  /** The decision on a hire: a pending agent begins to work, or is stopped. The caller has locked it. False: it was not pending. */
  async endProbation(tx: Tx, agent: WholeAgentRow, to: 'active' | 'stopped'): Promise<boolean> {
    if (agent.lifecycle !== 'pending_approval') return false;
    await this.agents.moveLifecycle(tx, agent, to);
    await this.standing.tellStanding(tx, agent.workspace_id, agent.id);
    return true;
  }

  stop(workspaceId: string, agentId: string): Promise<AgentView> {
    return this.press(workspaceId, agentId, (tx, agent) => this.moveLifecycle(tx, agent, 'stop'));
  }

  start(workspaceId: string, agentId: string): Promise<AgentView> {
    return this.press(workspaceId, agentId, async (tx, agent) => {
      if (!(await this.moveLifecycle(tx, agent, 'start'))) return false;
      await this.reactions.startedAgain(tx, { id: agent.id });
      tx.nudge('work');
      return true;
    });
  }

  /** For good: no more wakes, its history stays. The open episode is closed and stays named, for whoever dismisses its item. */
  archive(workspaceId: string, agentId: string): Promise<void> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const agent = await this.agents.lockWithItsWork(tx, workspaceId, agentId);
      if (!agent) throw new OfficeError('not_found');
      if (agent.lifecycle === 'archived') return;
      await this.agents.closePause(tx, agent, 'archived');
      await this.agents.moveLifecycle(tx, agent, 'archived');
      await this.reactions.archived(tx, { id: agent.id });
      await this.standing.tellStanding(tx, workspaceId, agent.id);
    });
  }

  private press(workspaceId: string, agentId: string, write: (tx: Tx, agent: WholeAgentRow) => Promise<boolean>): Promise<AgentView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const agent = await this.standing.lock(tx, workspaceId, agentId);
      if (agent.lifecycle === 'archived') throw new OfficeError('agent_archived');
      if (await write(tx, agent)) await this.standing.tellStanding(tx, workspaceId, agent.id);
      return this.directory.viewFor(tx, workspaceId, agent.id, 'everything');
    });
  }

  private async moveLifecycle(tx: Tx, agent: WholeAgentRow, by: LifecycleSwitch): Promise<boolean> {
    const to = switched(agent.lifecycle, by);
    if (to === null) throw new OfficeError('illegal_transition', { from: agent.lifecycle, to: by === 'stop' ? 'stopped' : 'active' });
    if (to === agent.lifecycle) return false;
    await this.agents.moveLifecycle(tx, agent, to);
    return true;
  }
}
