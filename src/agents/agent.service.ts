import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import type { Reading } from '../platform/database/reading.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { AgentReadings } from './agent-readings.js';
import { AgentRepository } from './agent.repository.js';
import type { SeenPause, WholeAgentRow } from './agent.repository.js';
import type { ListedAgentView } from './agent.view.js';
import { viewListedAgent } from './agent.view.js';
import { statusOf } from './domain/agent-status.js';

/** A staff nobody could look over anyway. */
const MOST_AGENTS = 1_000;

/** The room's face towards other rooms. Every method is a part of the caller's transaction. */
@Injectable()
export class AgentService {
  constructor(
    private readonly agents: AgentRepository,
    private readonly readings: AgentReadings,
  ) {}

  /** The agent as it is now, locked. Agents come last in the order of locks: task, run, session, agent. */
  async lock(tx: Tx, workspaceId: string, id: string): Promise<WholeAgentRow> {
    return present(await this.agents.lock(tx, workspaceId, id), id);
  }

  /**
   * That work may be given to the agent. Ask once before the reference to it is written, to refuse early, and once after,
   * to be sure: from then on whoever archives the agent waits for this transaction, and so sees the work.
   */
  async assertAssignable(db: Reading, workspaceId: string, id: string): Promise<void> {
    const lifecycle = await this.agents.lifecycle(db, workspaceId, id);
    if (lifecycle === null) throw new OfficeError('not_found', { what: 'agent', id });
    if (lifecycle === 'archived') throw new OfficeError('agent_archived', { id });
  }

  /** Everybody who has not been archived, up to a thousand: two statements, however many they are. */
  async staff(db: Reading, workspaceId: string): Promise<ListedAgentView[]> {
    const rows = await this.agents.list(db, workspaceId, { archived: false, after: null, take: MOST_AGENTS });
    const ids = rows.map(({ id }) => id);
    const read = await this.readings.of(db, workspaceId, ids);
    return rows.map((row) => viewListedAgent(row, read.get(row.id)));
  }

  /** The ids of those who have these handles and may be woken. */
  async idsOfHandles(db: Reading, workspaceId: string, handles: readonly string[]): Promise<string[]> {
    if (handles.length === 0) return [];
    return (await this.agents.byHandles(db, workspaceId, handles)).map(({ id }) => id);
  }

  /** Ends the pause a locked agent is in: see `AgentRepository.endPause`. */
  endPause(tx: Tx, agent: SeenPause, by: 'mark_fixed'): Promise<string | null> {
    return this.agents.endPause(tx, agent, by);
  }

  /** Tells how the agent stands now, once everything else of the transaction has been written. */
  async tellStanding(tx: Tx, workspaceId: string, id: string): Promise<void> {
    const agent = present(await this.agents.find(tx, workspaceId, id), id);
    const liveSessions = (await this.readings.of(tx, workspaceId, [id])).get(id)?.liveSessions ?? 0;
    tx.emit('office.agent.updated', {
      agent_id: id,
      status: statusOf({ lifecycle: agent.lifecycle, pauseSource: agent.pause_source, liveSessions }),
      pause_reason: agent.pause_reason,
      consecutive_failures: agent.consecutive_failures,
    });
  }
}

function present(agent: WholeAgentRow | null, id: string): WholeAgentRow {
  if (!agent) throw new OfficeError('not_found', { what: 'agent', id });
  return agent;
}
