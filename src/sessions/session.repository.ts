import { Injectable } from '@nestjs/common';
import { sqlList } from '../platform/database/sql-list.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { IS_FROM_OFFICE } from '../tasks/domain/is-from-office.js';
import { liveHostSql } from '../workspaces/live-host.sql.js';
import { usageSql } from '../workspaces/usage.sql.js';
import type { UsageView } from '../workspaces/usage.view.js';
import { isOver, SESSION_STATES } from './domain/session-state.js';
import type { SessionState } from './domain/session-state.js';

/** A conversation whose row this transaction holds. */
export interface LockedSession {
  readonly id: string;
  readonly workspace_id: string;
  readonly task_id: string | null;
  readonly agent_id: string;
  readonly state: SessionState;
  readonly adapter: string;
  readonly acp_session_id: string | null;
  readonly turns: number;
  /** Of an Office task, or of none. */
  readonly is_office: boolean;
}

/** An agent and the task it talks about. */
export interface Pair {
  readonly taskId: string;
  readonly agentId: string;
}

/** A pair that wants a conversation, with the id of the row in case it has none yet. */
export interface Opening extends Pair {
  readonly newId: string;
  readonly adapter: string;
}

/** What is written with a state; what is undefined stays. */
export interface SessionWrite {
  readonly errorMessage?: string | null;
  readonly acpSessionId?: string;
}

export interface SessionRow {
  readonly id: string;
  readonly task_id: string | null;
  readonly agent_id: string;
  readonly state: SessionState;
  readonly is_office: boolean;
  readonly acp_session_id: string | null;
  readonly executor: { readonly host_id: string; readonly path: string; readonly branch: string | null } | null;
  readonly error_message: string | null;
  readonly turns: number;
  readonly usage: UsageView | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** A task's folder that nobody can reach: its host is away. */
export interface StrandedFolder {
  readonly host_id: string;
  readonly path: string;
  /** All that are not over, whichever agent's: their conversations are on that host as well. */
  readonly session_ids: readonly string[];
}

/** The states in which a pair's session is its one open session; the index `task_sessions_one_open_per_pair` says the same. */
const OPEN = `state in (${sqlList(SESSION_STATES.filter((state) => !isOver(state)))})`;
const SHORT_PER_TASK = 20;

const LOCKED = `session.id, session.workspace_id, session.task_id, session.agent_id, session.state, session.adapter, session.acp_session_id,
  session.turns, (session.task_id is null or ${IS_FROM_OFFICE}) as is_office`;
// By id alone: the two-column foreign keys hold them in the workspace, and naming it would invite a walk through all of its tasks.
const TASKS = `
  left join tasks task on task.id = session.task_id
  left join workflows workflow on workflow.id = task.workflow_id`;

const WHOLE = `
  select session.id, session.task_id, session.agent_id, session.state, (session.task_id is null or ${IS_FROM_OFFICE}) as is_office,
         session.acp_session_id, session.error_message, session.turns, session.created_at, session.updated_at,
         ${usageSql('u.session_id = session.id')} as usage,
         case when place.session_id is null then null
              else json_build_object('host_id', place.host_id, 'path', place.path, 'branch', place.branch) end as executor
    from task_sessions session
    left join executors_running place on place.session_id = session.id
    ${TASKS}`;

/** The rows of `task_sessions`. */
@Injectable()
export class SessionRepository {
  /** Makes a session for every pair that has no open one. Waits for whoever is making or ending one for the same pair. */
  async insertMissing(tx: Tx, workspaceId: string, openings: readonly Opening[]): Promise<void> {
    await tx.query(
      `insert into task_sessions (workspace_id, id, task_id, agent_id, adapter)
       select $1, opening.id, opening.task_id, opening.agent_id, opening.adapter
         from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) as opening (id, task_id, agent_id, adapter)
        order by opening.task_id, opening.agent_id
       on conflict (task_id, agent_id) where task_id is not null and state not in ('COMPLETED', 'CANCELLED') do nothing`,
      [
        workspaceId,
        openings.map(({ newId }) => newId),
        openings.map(({ taskId }) => taskId),
        openings.map(({ agentId }) => agentId),
        openings.map(({ adapter }) => adapter),
      ],
    );
  }

  /** A session without a task: of one run alone. */
  async insertTaskless(tx: Tx, workspaceId: string, session: { id: string; agentId: string; adapter: string }): Promise<void> {
    await tx.query(`insert into task_sessions (workspace_id, id, agent_id, adapter) values ($1, $2, $3, $4)`, [
      workspaceId,
      session.id,
      session.agentId,
      session.adapter,
    ]);
  }

  async lock(tx: Tx, workspaceId: string, id: string): Promise<LockedSession | null> {
    const [session] = await tx.query<LockedSession>(
      `select ${LOCKED} from task_sessions session ${TASKS} where session.workspace_id = $1 and session.id = $2 for no key update of session`,
      [workspaceId, id],
    );
    return session ?? null;
  }

  /** The open sessions of the pairs, locked in the order of their ids. A pair may have none. */
  async lockOpen(tx: Tx, workspaceId: string, pairs: readonly Pair[]): Promise<LockedSession[]> {
    return tx.query<LockedSession>(
      `select ${LOCKED} from task_sessions session ${TASKS}
        where session.workspace_id = $1 and session.${OPEN} and session.id = any(array(
          select found.id from unnest($2::uuid[], $3::uuid[]) as pair (task_id, agent_id)
           cross join lateral (
             select id from task_sessions where task_id = pair.task_id and agent_id = pair.agent_id and ${OPEN} limit 1) found))
        order by session.id for no key update of session`,
      [workspaceId, pairs.map(({ taskId }) => taskId), pairs.map(({ agentId }) => agentId)],
    );
  }

  /** By compare-and-set. Answers the session as it is now, or null when it was not in that state any more. */
  async move(tx: Tx, session: LockedSession, to: SessionState, write: SessionWrite): Promise<boolean> {
    const moved = await tx.query(
      `update task_sessions
          set state = $4, updated_at = now(), turns = turns + case when $4 = 'RUNNING' then 1 else 0 end,
              error_message = case when $5 then $6 else error_message end,
              acp_session_id = coalesce($7, acp_session_id),
              acp_session_history = case when $7 <> acp_session_id then acp_session_history || to_jsonb(acp_session_id) else acp_session_history end,
              ended_at = case when $8 then clock_timestamp() end
        where workspace_id = $1 and id = $2 and state = $3 returning id`,
      [
        session.workspace_id,
        session.id,
        session.state,
        to,
        write.errorMessage !== undefined,
        write.errorMessage ?? null,
        write.acpSessionId ?? null,
        isOver(to),
      ],
    );
    return moved.length === 1;
  }

  /** The program that keeps the conversation is another one now, or is to begin anew: the old id is kept as history only. */
  async forgetConversation(tx: Tx, session: LockedSession, adapter: string): Promise<void> {
    await tx.query(
      `update task_sessions
          set acp_session_history = case when acp_session_id is null then acp_session_history
                                         else acp_session_history || to_jsonb(acp_session_id) end,
              acp_session_id = null, adapter = $3, updated_at = now()
        where workspace_id = $1 and id = $2`,
      [session.workspace_id, session.id, adapter],
    );
  }

  /**
   * The task is locked first, so that no claim can put it somewhere meanwhile. A worktree is never stranded: its repository is
   * on that host alone, and nobody knows what work is in it. Nor while a run of the task has not been settled: it is in there still.
   */
  async strandedFolder(tx: Tx, workspaceId: string, taskId: string, leaseSec: number): Promise<StrandedFolder | null> {
    await tx.query(`select from tasks where workspace_id = $1 and id = $2 for no key update`, [workspaceId, taskId]);
    const [folder] = await tx.query<StrandedFolder>(
      `select f.host_id, f.path,
              array(select s.id from task_sessions s where s.task_id = f.task_id and s.${OPEN}) as session_ids
         from task_folders f join hosts h on h.id = f.host_id
        where f.workspace_id = $1 and f.task_id = $2 and f.repository_id is null and not ${liveHostSql('$3')}
          and not exists (select from runs r where r.task_id = f.task_id and r.status = 'running')`,
      [workspaceId, taskId, leaseSec],
    );
    return folder ?? null;
  }

  async forgetFolder(tx: Tx, workspaceId: string, taskId: string): Promise<void> {
    await tx.query(`delete from executors_running where workspace_id = $1 and task_id = $2`, [workspaceId, taskId]);
    await tx.query(`delete from task_folders where workspace_id = $1 and task_id = $2`, [workspaceId, taskId]);
  }

  async find(db: Reading, workspaceId: string, id: string): Promise<SessionRow | null> {
    const [row] = await db.query<SessionRow>(`${WHOLE} where session.workspace_id = $1 and session.id = $2`, [workspaceId, id]);
    return row ?? null;
  }

  /** Oldest first. */
  listOfTask(db: Reading, workspaceId: string, taskId: string, page: { after: string | null; take: number }): Promise<SessionRow[]> {
    return db.query<SessionRow>(
      `${WHOLE} where session.workspace_id = $1 and session.task_id = $2 and ($3::uuid is null or session.id > $3)
       order by session.id limit $4`,
      [workspaceId, taskId, page.after, page.take],
    );
  }

  async usageOfTask(db: Reading, taskId: string): Promise<UsageView | null> {
    const [row] = await db.query<{ usage: UsageView | null }>(`select ${usageSql('u.task_id = $1')} as usage`, [taskId]);
    return row!.usage;
  }

  /** The newest few of each task, newest first. */
  shortOfTasks(
    db: Reading,
    workspaceId: string,
    taskIds: readonly string[],
  ): Promise<{ id: string; task_id: string; agent_id: string; state: SessionState; is_office: boolean }[]> {
    return db.query(
      `select newest.* from unnest($2::uuid[]) as wanted (id)
        cross join lateral (
          select session.id, session.task_id, session.agent_id, session.state, ${IS_FROM_OFFICE} as is_office
            from task_sessions session ${TASKS}
           where session.workspace_id = $1 and session.task_id = wanted.id
           order by session.id desc limit ${SHORT_PER_TASK}) newest`,
      [workspaceId, taskIds],
    );
  }
}
