import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { SYSTEM_USER_ID } from '../platform/ids.js';
import { OPEN_FAILURE } from '../inbox/open-items.sql.js';
import type { FencedRun } from '../runs/fenced-run.js';
import { conversationBegan } from '../runs/run-ownership.service.js';
import { storableJson } from '../platform/text/storable.js';
import { restOf, type SessionState } from '../sessions/domain/session-state.js';
import { liveSessionsOf } from '../sessions/live-session.sql.js';
import { IS_FROM_OFFICE } from '../tasks/domain/is-from-office.js';

/** A run to be settled. */
export interface SettledRun extends FencedRun {
  /** The ACP session that this attempt began, where its start was not worth a commit of its own any more. */
  readonly unrecordedStart?: string | undefined;
}

/** What is kept of a diagnosis. */
export interface StoredDiagnosis {
  readonly code: string;
  readonly class: string;
  readonly rule: string;
  /** When the limit it failed on ends: epoch milliseconds. */
  readonly retryAfterMs: number | null;
}

/** The rows a run's end touches, locked. Null where the run has no task. */
export interface LockedRun {
  readonly run: {
    readonly id: string;
    readonly generation: number;
    readonly status: string;
    readonly launched: boolean;
    /** By the database's clock, under the lock. */
    readonly leaseEnded: boolean;
    readonly stopReason: string | null;
    readonly scope: string | null;
    readonly sessionId: string | null;
    readonly executionId: string | null;
    readonly retryCount: number;
    /** Seconds since it was asked for. */
    readonly ageSec: number;
    /** The agent has acted through the office's own tools in this attempt. */
    readonly acted: boolean;
    /** It went first when the hold on its provider was over. */
    readonly wentFirst: boolean;
    /** The agent waits for a person to permit something. */
    readonly asks: boolean;
    readonly hostId: string | null;
    readonly bootId: string | null;
  };
  readonly task: {
    readonly id: string;
    readonly identifier: string;
    readonly title: string;
    readonly state: string;
    readonly over: boolean;
    /** False: its sessions rest in WAITING_FOR_INPUT. */
    readonly is_office: boolean;
    /** A work step that needs no signal: a turn of the assignee ends it. */
    readonly ends_with_turn: boolean;
  } | null;
  readonly session: { readonly id: string; readonly state: SessionState; readonly acpSessionId: string | null; readonly signaled: boolean };
  readonly agent: {
    readonly id: string;
    readonly name: string;
    readonly adapter: string;
    readonly lifecycle: 'active' | 'stopped' | 'pending_approval' | 'archived';
    readonly consecutiveFailures: number;
    readonly ownThreshold: number | null;
    readonly workspaceThreshold: number;
    readonly pauseReason: string | null;
    readonly pauseSource: 'auto' | 'person' | null;
    readonly currentPauseId: string | null;
    /** Besides those whose runs end here. */
    readonly otherLiveSessions: number;
    /** Some of its runs that failed are still in the inbox. */
    readonly hasOpenFailures: boolean;
  };
}

type Counted = 'otherLiveSessions' | 'hasOpenFailures';
type UncountedRun = Omit<LockedRun, 'agent'> & { readonly agent: Omit<LockedRun['agent'], Counted> };

/**
 * One statement, four kinds of locks, in the order that holds everywhere: tasks, runs, sessions, agents, each kind by id
 * (contract 5). Each part depends on the one before through a sub-select that PostgreSQL has to finish before it may
 * lock; the order within a kind holds because locks are taken above the sort.
 */
const LOCK = `
  with ending as materialized (
    select t.id, t.parent_id from runs r join tasks t on t.id = r.task_id join workflow_steps p on p.id = t.step_id
      join task_sessions s on s.id = r.session_id
     where r.workspace_id = $1 and r.id = any($2::uuid[]) and (s.signaled_at is not null or (p.kind = 'work' and not p.requires_signal))
  ), t as materialized (
    -- Those, too, that the end of a task would look at: they stand before everything else in the order of locks.
    select id, identifier, title, state, (archived_at is not null or deleted_at is not null) as over, step_id, workflow_id, project_id
      from tasks where workspace_id = $1 and id = any(array(
        select unnest($3::uuid[]) union all select parent_id from ending
         union all select b.task_id from ending join task_blockers b on b.blocker_id = ending.id)) order by id for no key update
  ), r as materialized (
    select id, generation, status, launched_at, stop_requested_reason, scope, session_id, agent_id, task_id, lease_host_id, lease_boot_id,
           retry_count, requested_at, lease_expires_at < clock_timestamp() as lease_ended
      from runs where workspace_id = $1 and id = any($2::uuid[]) and (select count(*) from t) >= 0 order by id for no key update
  ), s as materialized (
    select id, state, acp_session_id, signaled_at from task_sessions where workspace_id = $1 and id = any(array(select session_id from r)) order by id for no key update
  ), a as materialized (
    select id, workspace_id, name, adapter, lifecycle, consecutive_failures, failure_threshold, pause_reason, pause_source, current_pause_id
      from agent_instances where workspace_id = $1 and id = any($4::uuid[]) and (select count(*) from s) >= 0 order by id for no key update
  )
  select jsonb_build_object('id', r.id, 'generation', r.generation, 'status', r.status, 'launched', r.launched_at is not null,
           'leaseEnded', coalesce(r.lease_ended, false),
           'stopReason', r.stop_requested_reason, 'scope', r.scope, 'hostId', r.lease_host_id, 'bootId', r.lease_boot_id, 'sessionId', r.session_id,
           'retryCount', r.retry_count, 'ageSec', extract(epoch from now() - r.requested_at)::float8, 'executionId', n.execution_id,
           'wentFirst', exists (select from provider_holds h where h.first_run_id = r.id and h.ended_at is null),
           'asks', exists (select from permission_requests q where q.run_id = r.id and q.closed_at is null),
           'acted', exists (select from office_run_events e
                             where e.run_id = r.id and e.event_type = 'runtime.action' and e.created_at >= n.claimed_at)) as run,
         case when t.id is null then null else to_jsonb(t) || jsonb_build_object('is_office', (
             select ${IS_FROM_OFFICE} from (select t.project_id) task, workflows workflow where workflow.id = t.workflow_id), 'ends_with_turn', (
             select step.kind = 'work' and not step.requires_signal from workflow_steps step where step.id = t.step_id)) end as task,
         jsonb_build_object('id', s.id, 'state', s.state, 'acpSessionId', s.acp_session_id, 'signaled', s.signaled_at is not null) as session,
         jsonb_build_object('id', a.id, 'name', a.name, 'adapter', a.adapter, 'lifecycle', a.lifecycle, 'consecutiveFailures', a.consecutive_failures,
           'ownThreshold', a.failure_threshold,
           'workspaceThreshold', (select agent_failure_threshold from workspace_settings w where w.workspace_id = a.workspace_id),
           'pauseReason', a.pause_reason, 'pauseSource', a.pause_source, 'currentPauseId', a.current_pause_id) as agent
    from r left join t on t.id = r.task_id left join s on s.id = r.session_id join a on a.id = r.agent_id
    left join run_attempts n on n.run_id = r.id and n.generation = r.generation`;

/** Its own statement, begun when the locks are held: of two runs of an agent that end at once, the second must see the first one's end. */
const COUNTED = `
  select a.id, ${liveSessionsOf('a.id', '$3::uuid[]')} as "otherLiveSessions",
         exists (select from runs r where r.agent_id = a.id and ${OPEN_FAILURE}) as "hasOpenFailures"
    from agent_instances a where a.workspace_id = $1 and a.id = any($2::uuid[])`;

const COMPLETE = `
  with c as (
    select * from jsonb_to_recordset($2::jsonb) as c(
      run_id uuid, generation int, agent_id uuid, task_id uuid, session_id uuid, session text, began text, stop_reason text, usage jsonb)
  ), ended as (
    update runs r set status = 'completed', finished_at = clock_timestamp(), stop_reason = c.stop_reason, usage = c.usage,
           started_at = coalesce(r.started_at, case when c.began is not null then clock_timestamp() end),
           lease_host_id = null, lease_boot_id = null, lease_expires_at = null
      from c where r.workspace_id = $1 and r.id = any($4::uuid[]) and r.id = c.run_id and r.generation = c.generation and r.status = 'running'
    returning r.id, r.generation, r.claimed_at, r.started_at, r.finished_at, r.usage
  ), attempts as (
    update run_attempts a set outcome = 'turn_ended', started_at = e.started_at, finished_at = e.finished_at, usage = e.usage
      from ended e where a.run_id = any($4::uuid[]) and a.run_id = e.id and a.generation = e.generation
  ), sessions as (
    update task_sessions t set state = c.session, updated_at = now(), ${conversationBegan('c.began', 'e.claimed_at')}
      from c join ended e on e.id = c.run_id where t.workspace_id = $1 and t.id = any($5::uuid[]) and t.id = c.session_id
  ), agents as (
    update agent_instances a set consecutive_failures = 0, last_run_finished_at = clock_timestamp()
      from c where a.workspace_id = $1 and a.id = any($6::uuid[]) and a.id = c.agent_id
  ), resolved as (
    insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id)
    select $3, 'agent_run_failed', r.id, $1 from c join runs r on r.agent_id = c.agent_id and r.task_id = c.task_id
     where r.workspace_id = $1 and r.agent_id = any($6::uuid[]) and ${OPEN_FAILURE}
    on conflict do nothing returning item_id
  )
  select g.item_id, r.agent_id from resolved g join runs r on r.id = g.item_id order by g.item_id`;

/** What an owner says its attempt came to; the payload of a failure, as it is stored. */
export interface AttemptEnd {
  readonly outcome: 'turn_ended' | 'error' | 'timed_out';
  readonly payload: string | null;
}

/** Where the session rests after its turn: what belongs to no task is the Office's. */
export const restAfter = ({ task }: LockedRun): 'IDLE' | 'WAITING_FOR_INPUT' => restOf(task?.is_office ?? true);

/** Writes of a run's end that need no decision of their own. All under the locks above. */
@Injectable()
export class SettlementRepository {
  /** What of `runs` is there, by run id. */
  async lock(tx: Tx, runs: readonly SettledRun[]): Promise<ReadonlyMap<string, LockedRun>> {
    const taskIds = runs.flatMap(({ taskId }) => (taskId === null ? [] : [taskId]));
    const agentIds = runs.map(({ agentId }) => agentId);
    const sessionIds = runs.map(({ sessionId }) => sessionId);
    const [locked, counted] = await Promise.all([
      tx.openWith<UncountedRun>(LOCK, [tx.workspaceId, runs.map(({ runId }) => runId), taskIds, agentIds]),
      tx.openWith<Pick<LockedRun['agent'], 'id' | Counted>>(COUNTED, [tx.workspaceId, agentIds, sessionIds]),
    ]);
    const counts = new Map(counted.map((agent) => [agent.id, agent]));
    return new Map(locked.map((one) => [one.run.id, { ...one, agent: { ...one.agent, ...counts.get(one.agent.id)! } }]));
  }

  /**
   * The good end, of many at once. Answers the failure items of their pairs that it resolves. `unheard`: there can be none, and
   * nothing that is done meanwhile looks at these rows; it is written with the commit.
   */
  async complete(
    tx: Tx,
    ends: readonly { run: SettledRun; stopReason: string; usage: object | null; session: SessionState }[],
    unheard: boolean,
  ): Promise<{ item_id: string; agent_id: string }[]> {
    if (ends.length === 0) return [];
    const rows = ends.map(({ run, stopReason, usage, session }) => ({
      run_id: run.runId,
      generation: run.generation,
      agent_id: run.agentId,
      task_id: run.taskId,
      session_id: run.sessionId,
      session,
      began: run.unrecordedStart ?? null,
      stop_reason: stopReason,
      usage,
    }));
    const parameters = [
      tx.workspaceId,
      JSON.stringify(rows),
      SYSTEM_USER_ID,
      rows.map(({ run_id }) => run_id),
      rows.map(({ session_id }) => session_id),
      rows.map(({ agent_id }) => agent_id),
    ];
    if (!unheard) return tx.prepared<{ item_id: string; agent_id: string }>(COMPLETE, parameters);
    tx.last(COMPLETE, parameters);
    return [];
  }

  /** Every other end of the run, its attempt, its session and its agent's clock. */
  async end(
    tx: Tx,
    run: SettledRun,
    end: {
      status: 'cancelled' | 'failed' | 'timed_out';
      outcome: 'stopped' | 'error' | 'timed_out' | 'interrupted';
      cancelReason: string | null;
      failureKind: 'error' | 'interrupted' | null;
      errorMessage: string | null;
      errorSummary: string | null;
      diagnosis: StoredDiagnosis | null;
      evidence: object | null;
      session: SessionState;
      endsSession: boolean;
    },
  ): Promise<void> {
    await tx.prepared(
      `with ended as (
         update runs set status = $4, finished_at = clock_timestamp(), cancel_reason = $5, failure_kind = $6, error_message = $7,
                error_summary = $8, error_code = $15, error_class = $16, retry_after = to_timestamp($18::float8 / 1000),
                lease_host_id = null, lease_boot_id = null, lease_expires_at = null
          where workspace_id = $1 and id = $2 and generation = $3 and status = 'running'
         returning id, generation, finished_at
       ), attempt as (
         update run_attempts a set outcome = $9, finished_at = e.finished_at, evidence = $10,
                error_payload = $7, error_code = $15, error_class = $16, rule = $17
           from ended e where a.run_id = e.id and a.generation = e.generation
       ), session as (
         update task_sessions
            set state = $11, error_message = $7, updated_at = now(), ended_at = case when $12 then clock_timestamp() end
          where workspace_id = $1 and id = $13
       )
       update agent_instances set last_run_finished_at = clock_timestamp() where workspace_id = $1 and id = $14`,
      [
        tx.workspaceId,
        run.runId,
        run.generation,
        end.status,
        end.cancelReason,
        end.failureKind,
        end.errorMessage,
        end.errorSummary,
        end.outcome,
        end.evidence === null ? null : storableJson(end.evidence),
        end.session,
        end.endsSession,
        run.sessionId,
        run.agentId,
        end.diagnosis?.code ?? null,
        end.diagnosis?.class ?? null,
        end.diagnosis?.rule ?? null,
        end.diagnosis?.retryAfterMs ?? null,
      ],
    );
  }

  /** False when the task is over, or in REVIEW already: its state stays what people, or reviewers, made it. */
  async toReview(tx: Tx, taskId: string): Promise<boolean> {
    const moved = await tx.query(
      `update tasks set state = 'REVIEW', review_after_failure = true, updated_at = now()
        where workspace_id = $1 and id = $2 and state not in ('REVIEW', 'DONE', 'CANCELLED') and deleted_at is null returning id`,
      [tx.workspaceId, taskId],
    );
    return moved.length === 1;
  }

  /** The result of an execution that no longer owned its run: kept with its attempt, once; the run stays as it was settled. */
  async keepLate(tx: Tx, runId: string, generation: number, result: object): Promise<boolean> {
    const kept = await tx.query(
      `update run_attempts set late_result = $4 where workspace_id = $1 and run_id = $2 and generation = $3 and late_result is null
         and outcome is not null returning run_id`,
      [tx.workspaceId, runId, generation, storableJson(result)],
    );
    return kept.length === 1;
  }

  /** What an attempt has used that did not end well; the good end writes its own. */
  async writeUsage(tx: Tx, run: SettledRun, usage: object): Promise<void> {
    await tx.query(`update run_attempts set usage = $4 where workspace_id = $1 and run_id = $2 and generation = $3`, [
      tx.workspaceId,
      run.runId,
      run.generation,
      storableJson(usage),
    ]);
  }

  /** Whether this attempt came to exactly this, and the run as it is now. Null: to something else, or it is open. */
  async cameTo(tx: Tx, run: SettledRun, { outcome, payload }: AttemptEnd): Promise<{ status: string; generation: number } | null> {
    const [now] = await tx.query<{ status: string; generation: number }>(
      `select r.status, r.generation from run_attempts a join runs r on r.id = a.run_id
        where a.workspace_id = $1 and a.run_id = $2 and a.generation = $3 and a.outcome = $4 and a.error_payload is not distinct from $5`,
      [tx.workspaceId, run.runId, run.generation, outcome, payload],
    );
    return now ?? null;
  }

  async postedComment(tx: Tx, runId: string, taskId: string): Promise<boolean> {
    const [row] = await tx.query<{ posted: boolean }>(
      `select exists (select from task_comments where run_id = $2 and task_id = $3 and workspace_id = $1) as posted`,
      [tx.workspaceId, runId, taskId],
    );
    return row!.posted;
  }
}
