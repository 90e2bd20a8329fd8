import { Injectable } from '@nestjs/common';
import type { AgentPermissions, AgentRole } from '../access/domain/capabilities.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { storableJson } from '../platform/text/storable.js';
import type { Adapter, AdapterConfig } from './domain/adapter-config.js';
import type { Lifecycle, PauseSource } from './domain/agent-status.js';
import { handleStem } from './domain/handle.js';

/** A row as lists read it: without the columns that can be wide. */
export interface AgentRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly handle: string;
  readonly role: AgentRole;
  readonly adapter: Adapter;
  readonly reports_to: string | null;
  readonly lifecycle: Lifecycle;
  readonly pause_reason: string | null;
  readonly pause_source: PauseSource | null;
  readonly paused_at: Date | null;
  readonly current_pause_id: string | null;
  readonly consecutive_failures: number;
  readonly failure_threshold: number | null;
  readonly effective_failure_threshold: number;
  readonly max_concurrent_sessions: number;
  readonly cooldown_sec: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** An agent and the pause it is in. */
export type SeenPause = Pick<AgentRow, 'id' | 'workspace_id' | 'pause_source' | 'current_pause_id'>;

export interface WholeAgentRow extends AgentRow {
  readonly adapter_config: AdapterConfig;
  readonly permissions: AgentPermissions;
  readonly instructions: string | null;
}

/** What a new agent is made of. */
export interface NewAgent {
  readonly id: string;
  readonly name: string;
  readonly handle: string;
  readonly role: AgentRole;
  readonly adapter: Adapter;
  readonly adapter_config: AdapterConfig;
  readonly permissions: AgentPermissions;
  readonly instructions: string | null;
  readonly reports_to: string | null;
  readonly failure_threshold: number | null;
  readonly max_concurrent_sessions: number;
  readonly cooldown_sec: number;
  readonly lifecycle: Lifecycle;
}

export type AgentColumns = Omit<NewAgent, 'id' | 'lifecycle'>;

// Closed on purpose: what is interpolated into the UPDATE comes from here. jsonb is compared and written as jsonb.
const CHANGEABLE: Readonly<Record<keyof AgentColumns, 'text' | 'uuid' | 'integer' | 'jsonb'>> = {
  name: 'text',
  handle: 'text',
  role: 'text',
  adapter: 'text',
  adapter_config: 'jsonb',
  permissions: 'jsonb',
  instructions: 'text',
  reports_to: 'uuid',
  failure_threshold: 'integer',
  max_concurrent_sessions: 'integer',
  cooldown_sec: 'integer',
};

const NARROW = `agent.id, agent.workspace_id, agent.name, agent.handle, agent.role, agent.adapter, agent.reports_to, agent.lifecycle,
  agent.pause_reason, agent.pause_source, agent.paused_at, agent.current_pause_id, agent.consecutive_failures,
  agent.failure_threshold, coalesce(agent.failure_threshold, settings.agent_failure_threshold) as effective_failure_threshold,
  agent.max_concurrent_sessions, agent.cooldown_sec, agent.created_at, agent.updated_at`;
const WHOLE = `${NARROW}, agent.adapter_config, agent.permissions, agent.instructions`;
const FROM = `from agent_instances agent join workspace_settings settings on settings.workspace_id = agent.workspace_id`;

/** The rows of `agent_instances` and `agent_pauses`. */
@Injectable()
export class AgentRepository {
  async find(db: Reading, workspaceId: string, id: string): Promise<WholeAgentRow | null> {
    const [row] = await db.query<WholeAgentRow>(`select ${WHOLE} ${FROM} where agent.workspace_id = $1 and agent.id = $2`, [
      workspaceId,
      id,
    ]);
    return row ?? null;
  }

  /** In the order they were hired. */
  list(db: Reading, workspaceId: string, page: { archived: boolean; after: string | null; take: number }): Promise<AgentRow[]> {
    return db.query<AgentRow>(
      `select ${NARROW} ${FROM}
        where agent.workspace_id = $1 and (agent.lifecycle = 'archived') = $2 and ($3::uuid is null or agent.id > $3)
        order by agent.id limit $4`,
      [workspaceId, page.archived, page.after, page.take],
    );
  }

  /** The agent as it is now, locked until the end of the transaction. */
  async lock(tx: Tx, workspaceId: string, id: string): Promise<WholeAgentRow | null> {
    const [row] = await tx.query<WholeAgentRow>(
      `select ${WHOLE} ${FROM} where agent.workspace_id = $1 and agent.id = $2 for no key update of agent`,
      [workspaceId, id],
    );
    return row ?? null;
  }

  /**
   * As `lock`, and so that nobody can refer to the agent meanwhile: whoever assigns it work (a foreign key takes KEY SHARE)
   * waits for us, or we for them. Its tasks, runs and sessions come first, in the order everybody locks in (contract 5).
   */
  async lockWithItsWork(tx: Tx, workspaceId: string, id: string): Promise<WholeAgentRow | null> {
    const its = [workspaceId, id];
    await tx.query(
      `select id from tasks where workspace_id = $1 and assignee_agent_instance_id = $2 and deleted_at is null order by id for no key update`,
      its,
    );
    await tx.query(
      `select id from runs where workspace_id = $1 and agent_id = $2 and status in ('queued', 'scheduled_retry', 'running')
        order by id for no key update`,
      its,
    );
    await tx.query(
      `select id from task_sessions where workspace_id = $1 and agent_id = $2 and ended_at is null order by id for no key update`,
      its,
    );
    const [row] = await tx.query<WholeAgentRow>(
      `select ${WHOLE} ${FROM} where agent.workspace_id = $1 and agent.id = $2 for update of agent`,
      its,
    );
    return row ?? null;
  }

  /** One at a time per workspace: what two changes of handles or of the reporting line could break together. */
  async lockDirectory(tx: Tx, workspaceId: string): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('agent-directory ' || $1, 0))`, [workspaceId]);
  }

  async handleTaken(db: Reading, workspaceId: string, handle: string): Promise<boolean> {
    const rows = await db.query(`select 1 from agent_instances where workspace_id = $1 and handle = $2`, [workspaceId, handle]);
    return rows.length > 0;
  }

  /** The handles that stand in the way of this one and its numbered variants. */
  async handlesLike(db: Reading, workspaceId: string, handle: string): Promise<Set<string>> {
    const rows = await db.query<{ handle: string }>(
      `select handle from agent_instances where workspace_id = $1 and starts_with(handle, $2)`,
      [workspaceId, handleStem(handle)],
    );
    return new Set(rows.map((row) => row.handle));
  }

  async lifecycle(db: Reading, workspaceId: string, id: string): Promise<Lifecycle | null> {
    const [row] = await db.query<{ lifecycle: Lifecycle }>(`select lifecycle from agent_instances where workspace_id = $1 and id = $2`, [
      workspaceId,
      id,
    ]);
    return row?.lifecycle ?? null;
  }

  /** Whether the agent stands above that boss, or is it. */
  async isAbove(db: Reading, workspaceId: string, agentId: string, bossId: string): Promise<boolean> {
    const rows = await db.query(
      `with recursive line as (
         select id, reports_to from agent_instances where workspace_id = $1 and id = $3
         union
         select boss.id, boss.reports_to from line join agent_instances boss on boss.workspace_id = $1 and boss.id = line.reports_to
       )
       select 1 from line where id = $2`,
      [workspaceId, agentId, bossId],
    );
    return rows.length > 0;
  }

  /** Whether a person may see how the agents of the workspace are launched. */
  async isAdmin(db: Reading, workspaceId: string, userId: string): Promise<boolean> {
    const rows = await db.query(`select 1 from workspace_members where workspace_id = $1 and user_id = $2 and role = 'admin'`, [
      workspaceId,
      userId,
    ]);
    return rows.length > 0;
  }

  /** The agents of these handles that may be woken. */
  byHandles(db: Reading, workspaceId: string, handles: readonly string[]): Promise<{ id: string; handle: string }[]> {
    return db.query(
      `select id, handle from agent_instances where workspace_id = $1 and handle = any($2) and lifecycle <> 'archived' order by id`,
      [workspaceId, handles],
    );
  }

  async insert(tx: Tx, workspaceId: string, agent: NewAgent): Promise<void> {
    await tx.query(
      `insert into agent_instances (workspace_id, id, name, handle, role, adapter, adapter_config, permissions, instructions,
                                    reports_to, failure_threshold, max_concurrent_sessions, cooldown_sec, lifecycle)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      [
        workspaceId,
        agent.id,
        agent.name,
        agent.handle,
        agent.role,
        agent.adapter,
        storableJson(agent.adapter_config),
        storableJson(agent.permissions),
        agent.instructions,
        agent.reports_to,
        agent.failure_threshold,
        agent.max_concurrent_sessions,
        agent.cooldown_sec,
        agent.lifecycle,
      ],
    );
  }

  /** Writes these columns of a locked agent. */
  async change(tx: Tx, agent: AgentRow, columns: Partial<AgentColumns>): Promise<void> {
    const names = (Object.keys(CHANGEABLE) as (keyof AgentColumns)[]).filter((name) => columns[name] !== undefined);
    const values = names.map((name) => (CHANGEABLE[name] === 'jsonb' ? storableJson(columns[name]) : columns[name]));
    const assignments = names.map((name, index) => `${name} = $${index + 3}::${CHANGEABLE[name]}`);
    await tx.query(`update agent_instances set ${assignments.join(', ')}, updated_at = now() where workspace_id = $1 and id = $2`, [
      agent.workspace_id,
      agent.id,
      ...values,
    ]);
  }

  /** By a person, over whatever pause there is: the open episode stays the agent's current one (contract 8). */
  async pauseByPerson(tx: Tx, agent: AgentRow, reason: string): Promise<void> {
    await tx.query(
      `update agent_instances
          set pause_reason = $3, pause_source = 'person', paused_at = coalesce(paused_at, now()), updated_at = now()
        where workspace_id = $1 and id = $2`,
      [agent.workspace_id, agent.id, reason],
    );
  }

  /**
   * Ends the very pause that the locked agent was seen in, and its episode; answers the id of that, or null when none was open.
   * Mark fixed begins the count of failures anew, an unpause keeps it (contract 8). `unblocked_at`: what waited behind the pause
   * did not grow old by its own fault.
   */
  async endPause(tx: Tx, agent: SeenPause, by: 'unpaused' | 'mark_fixed'): Promise<string | null> {
    await tx.query(
      `update agent_instances
          set pause_reason = null, pause_source = null, paused_at = null, current_pause_id = null,
              consecutive_failures = case when $5 = 'mark_fixed' then 0 else consecutive_failures end,
              unblocked_at = now(), updated_at = now()
        where workspace_id = $1 and id = $2 and current_pause_id is not distinct from $3 and pause_source = $4`,
      [agent.workspace_id, agent.id, agent.current_pause_id, agent.pause_source, by],
    );
    return this.closePause(tx, agent, by);
  }

  /** Closes the episode the agent is in; answers its id, or null when there was none open. */
  async closePause(tx: Tx, agent: SeenPause, by: 'unpaused' | 'mark_fixed' | 'archived'): Promise<string | null> {
    const [closed] = await tx.query<{ id: string }>(
      `update agent_pauses set closed_at = now(), closed_by = $3
        where workspace_id = $1 and id = $2 and closed_at is null returning id`,
      [agent.workspace_id, agent.current_pause_id, by],
    );
    return closed?.id ?? null;
  }

  async moveLifecycle(tx: Tx, agent: AgentRow, to: Lifecycle): Promise<void> {
    await tx.query(
      `update agent_instances
          set lifecycle = $3, unblocked_at = case when $3 = 'active' then now() else unblocked_at end, updated_at = now()
        where workspace_id = $1 and id = $2 and lifecycle = $4`,
      [agent.workspace_id, agent.id, to, agent.lifecycle],
    );
  }
}
