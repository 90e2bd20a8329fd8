import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { sqlList } from '../platform/database/sql-list.js';
import type { Tx } from '../platform/database/tx.js';
import { IS_OPEN_BLOCKER } from '../tasks/domain/open-blocker.js';
import { SEAT_DECIDES, seatHolds, SEAT_IS_NEEDED } from '../workflow/domain/seat.js';
import { HOLD_OF_AGENT, NOBODY_WENT_FIRST, PROVIDER_LIMITED } from './provider-hold.sql.js';
import { tooOldSql } from './run-age.sql.js';
import { sourcesOf } from '../sessions/domain/session-state.js';
import { CHOOSE_FIRST, CHOOSE_RUNS } from './choose-runs.sql.js';
import type { ClaimInput, ClaimWrite, WrittenClaim } from './claim.js';

/**
 * Then the runs, their tasks and the open sessions of their pairs, each kind by id; what somebody else holds is left out. In a
 * snapshot taken after the agents were locked: what another server's claim or a stop did meanwhile is seen now. The status is
 * repeated because a lock re-reads only the locked row.
 */
const LOCK_RUNS = `
  with chosen as materialized (
    select r.id, r.agent_id, r.task_id, c.place, row_number() over (partition by r.agent_id order by c.place) as nth
      from unnest($2::uuid[]) with ordinality as c(id, place)
     cross join lateral (select * from runs r where r.id = c.id offset 0) r
      join agent_instances a on a.id = r.agent_id join workspaces w on w.id = r.workspace_id
     where r.workspace_id = $1 and r.status in ('queued', 'scheduled_retry') and w.stopped_at is null and w.archived_at is null
       and not ${PROVIDER_LIMITED}
       and not exists (
         select from runs p where p.status = 'running' and p.agent_id = r.agent_id
            and (p.task_id = r.task_id or (r.task_id is null and p.scope = r.scope)))
  ), r as materialized (
    select r.id, r.agent_id, r.task_id, c.place from chosen c join runs r on r.id = c.id join agent_instances a on a.id = r.agent_id
     where r.status in ('queued', 'scheduled_retry')
       and c.nth <= a.max_concurrent_sessions - (select count(*) from runs x where x.agent_id = a.id and x.status = 'running')
     order by r.id for no key update of r skip locked
  ), t as materialized (
    select id from tasks where workspace_id = $1 and id = any(array(select task_id from r)) order by id for no key update skip locked
  ), s as materialized (
    select s.id, s.task_id, s.agent_id from task_sessions s
     where s.workspace_id = $1 and s.task_id = any(array(select id from t)) and s.state not in ('COMPLETED', 'CANCELLED')
       and (s.task_id, s.agent_id) in (select task_id, agent_id from r)
     order by s.id for no key update skip locked
  )
  select r.id, r.task_id, s.id as session_id from r left join t on t.id = r.task_id
    left join s on s.task_id = r.task_id and s.agent_id = r.agent_id
   where r.task_id is null or t.id is not null
   order by r.place`;

/**
 * Everything the decisions and the prompt need, in one statement, read under the locks. Row by row ("offset 0" keeps a lateral
 * part from being joined as a table): its plan is kept, and may have been made when those tables were empty.
 */
const READ_INPUTS = `
  select r.id as run_id, r.generation, r.retry_count, r.session_id, r.reason, r.status, r.capabilities, r.role as run_role, r.entitlement, r.depth,
         r.agent_id, a.name as agent_name, a.role as agent_role, a.permissions, a.instructions, a.adapter, a.adapter_config,
         a.consecutive_failures, (select count(*)::int from runs x where x.agent_id = a.id and x.status = 'running') as agent_running,
         w.name as workspace_name, r.task_id, r.scope,
         case when t.id is null then null else jsonb_build_object(
           'identifier', t.identifier, 'title', t.title, 'state', t.state, 'step', st.name,
           'archived', t.archived_at is not null, 'deleted', t.deleted_at is not null,
           'assigneeId', t.assignee_agent_instance_id, 'reviewAfterFailure', t.review_after_failure,
           'description', t.description,
           'descriptionIsNews', t.description_changed_at > since.moment, 'repositoryId', t.repository_id) end as task,
         case when s.id is null then null else jsonb_build_object(
           'id', s.id, 'state', s.state, 'acpSessionId', s.acp_session_id, 'adapter', s.adapter, 'turns', s.turns) end as session,
         coalesce(f.path, e.path) as folder,
         coalesce(wakes.list, '[]') as wakes, coalesce(refused.list, '[]') as refused_wakes,
         coalesce(news.list, '[]') as comments, coalesce(news.total, 0)::int as comments_total,
         coalesce(blockers.list, '[]') as open_blockers,
         coalesce(seats.holds, false) as holds_seat, coalesce(seats.list, '[]') as seats,
         r.launched_at is not null or r.retry_count > 0 or coalesce(last.failed, false) as may_have_begun,
         ${tooOldSql('$3', '$4')} as too_old,
         (select ph.id from provider_holds ph where ${HOLD_OF_AGENT}) as hold_id,
         k.skills, k.version as skills_version
    from runs r
    join agent_instances a on a.id = r.agent_id
    join workspaces w on w.id = r.workspace_id
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object('slug', k.slug, 'description', k.description) order by k.slug), '[]') as skills,
             md5(coalesce(string_agg(k.id || ' ' || k.updated_at, ',' order by k.slug), '')) as version
        from skills k where k.workspace_id = r.workspace_id) k
    left join lateral (select * from tasks t where t.id = r.task_id offset 0) t on true
    left join lateral (select * from workflow_steps st where st.id = t.step_id offset 0) st on true
    left join lateral (select * from task_folders f where f.task_id = r.task_id offset 0) f on true
    left join lateral (
      select * from task_sessions s
       where s.task_id = r.task_id and s.agent_id = r.agent_id and s.state not in ('COMPLETED', 'CANCELLED') offset 0) s on true
    left join lateral (select * from executors_running e where e.session_id = s.id offset 0) e on true
    -- What the conversation has been told already. One that never began, or belongs to another program, knows nothing.
    cross join lateral (
      select coalesce(case when s.adapter = a.adapter and s.acp_session_id is not null then s.prompted_at end, '-infinity') as moment
    ) since
    left join lateral (
      select jsonb_agg(jsonb_build_object('id', q.id, 'reason', q.reason, 'note', q.note) order by q.id) as list
        from wake_requests q where q.run_id = r.id and q.outcome in ('queued', 'coalesced')) wakes on true
    left join lateral (
      select jsonb_agg(jsonb_build_object('reason', q.reason, 'why', q.refused_reason) order by q.id) as list
        from (select q.* from wake_requests q
               where q.task_id = r.task_id and q.agent_id = r.agent_id and q.outcome = 'refused'
                 and q.requested_at > since.moment
               order by q.id desc limit 20) q) refused on true
    left join lateral (
      select jsonb_agg(c.entry order by c.id) filter (where c.place <= 200) as list, count(*) as total
        from (select c.id, row_number() over (order by c.id desc) as place, jsonb_build_object(
                       'author', coalesce(ca.name, cu.name, 'Agent Office'), 'body', c.body,
                       'at', to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as entry
                from task_comments c
                left join agent_instances ca on c.author_kind = 'agent' and ca.id = c.author_id
                left join users cu on c.author_kind = 'user' and cu.id = c.author_id
               where c.task_id = r.task_id and c.author_id is distinct from r.agent_id
                 and c.created_at > since.moment) c) news on true
    left join lateral (
      select jsonb_agg(blocker.identifier order by blocker.number) as list
        from task_blockers b join tasks blocker on blocker.id = b.blocker_id
       where b.task_id = r.task_id and ${IS_OPEN_BLOCKER}
      ) blockers on true
    left join lateral (
      select bool_or(seat.agent_id = r.agent_id and ${SEAT_DECIDES}) as holds,
             jsonb_agg(jsonb_build_object('name', coalesce(sa.name, su.name), 'own', coalesce(seat.agent_id = r.agent_id, false),
                         'role', seat.role, 'needed', ${SEAT_IS_NEEDED}, 'decision', made.decision) order by seat.id) as list
        from workflow_step_participants seat
        left join agent_instances sa on sa.id = seat.agent_id
        left join users su on su.id = seat.user_id
        left join task_step_decisions made on made.task_id = t.id and made.step_id = seat.step_id and made.superseded_at is null
              and made.agent_id is not distinct from seat.agent_id and made.user_id is not distinct from seat.user_id
       where seat.step_id = t.step_id and ${seatHolds('t.id')}) seats on true
    -- A CASE again, so that PostgreSQL expects to find it soon and walks the task's runs back, not reads and sorts them all.
    left join lateral (
      select p.status in ('failed', 'timed_out') as failed from runs p
       where p.task_id = r.task_id
         and case when p.agent_id = r.agent_id and p.id <> r.id and p.launched_at is not null then true else false end
       order by p.id desc limit 1) last on true
   where r.workspace_id = $1 and r.id = any($2::uuid[])
     -- Another claim may have taken this very task for another agent before we got its lock.
     and not exists (select from runs p where p.status = 'running' and p.task_id = r.task_id)
     -- Or somebody may have begun to remove its folder.
     and f.removing_at is null`;

/**
 * One statement writes the whole claim; foreign keys are checked at its end, so a new session may be named before it exists.
 * The ids stand beside the rows ($6 to $8) because PostgreSQL takes a set from JSON for a hundred rows and would read
 * whole tables to meet them.
 */
const WRITE_CLAIMS = `
  with c as (
    select * from jsonb_to_recordset($5::jsonb) as c(
      run_id uuid, agent_id uuid, task_id uuid, session_id uuid, new_session boolean, new_conversation boolean, adapter text, path text, repository_id uuid,
      task_starts boolean, capabilities jsonb, role text, input_snapshot jsonb)
  ), new_sessions as (
    insert into task_sessions (id, workspace_id, agent_id, task_id, state, adapter)
    select session_id, $1, agent_id, task_id, 'STARTING', adapter from c where new_session
  ), old_sessions as (
    update task_sessions s
       set state = 'STARTING', error_message = null, updated_at = now(), adapter = c.adapter,
           acp_session_id = case when c.new_conversation then null else s.acp_session_id end,
           acp_session_history = case when c.new_conversation and s.acp_session_id is not null
             then s.acp_session_history || to_jsonb(s.acp_session_id) else s.acp_session_history end
      from c where s.workspace_id = $1 and s.id = any($8::uuid[]) and s.id = c.session_id and not c.new_session
       and s.state in (${sqlList(sourcesOf('STARTING'))})
  ), folders as (
    insert into task_folders (task_id, workspace_id, host_id, path, repository_id)
    select task_id, $1, $2, path, repository_id from c where task_id is not null
    on conflict (task_id) do nothing
  ), executors as (
    insert into executors_running (session_id, workspace_id, task_id, host_id, path, branch)
    select session_id, $1, task_id, $2, path, (select f.branch from task_folders f where f.task_id = c.task_id) from c
    on conflict (session_id) do update set host_id = excluded.host_id, path = excluded.path, branch = excluded.branch, updated_at = now()
  ), started_tasks as (
    update tasks t set state = 'IN_PROGRESS', review_after_failure = false, updated_at = now()
      from c where t.workspace_id = $1 and t.id = any($7::uuid[]) and t.id = c.task_id and c.task_starts
  ), claimed as (
    update runs r
       set status = 'running', generation = r.generation + 1, claimed_at = clock_timestamp(), launched_at = null, started_at = null,
           lease_host_id = $2, lease_boot_id = $3, lease_expires_at = clock_timestamp() + make_interval(secs => $4),
           error_message = null, error_summary = null, error_code = null, error_class = null, retry_after = null,
           evidence_at = null, last_content_at = null, process_alive = null, current_tool = null, awaits_permission = null,
           session_id = c.session_id, capabilities = c.capabilities, role = c.role, input_snapshot = c.input_snapshot
      from c where r.workspace_id = $1 and r.id = any($6::uuid[]) and r.id = c.run_id and r.status in ('queued', 'scheduled_retry')
    returning r.id, r.generation, r.claimed_at
  ), attempts as (
    insert into run_attempts (run_id, generation, workspace_id, host_id, boot_id, execution_id, claimed_at)
    select id, generation, $1, $2, $3, gen_random_uuid(), claimed_at from claimed
    returning run_id, generation, execution_id
  )
  select run_id, generation, execution_id from attempts`;

export interface ClaimPlace {
  readonly workspaceId: string;
  readonly hostId: string;
  readonly bootId: string;
  readonly leaseSec: number;
  /** Tasks whose last process is still going down here. */
  readonly busyTaskIds: readonly string[];
  readonly limit: number;
}

export interface LockedForClaim {
  readonly id: string;
  readonly task_id: string | null;
  readonly session_id: string | null;
}

/** The claim's statements, in the order in which they run. None waits for a lock (contract 4). */
@Injectable()
export class ClaimRepository {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** Ids of the best claimable runs, in the order of the claim. Their agents are locked from here on. */
  async chooseRuns(tx: Tx, at: ClaimPlace): Promise<string[]> {
    const parameters = [at.workspaceId, at.leaseSec, at.hostId, at.busyTaskIds, at.limit];
    const first = await tx.openWith<{ id: string; all_seen: boolean }>(CHOOSE_FIRST, parameters);
    const isEnough = first.length === at.limit || first[0]?.all_seen === true;
    const chosen = isEnough ? first : await tx.prepared<{ id: string }>(CHOOSE_RUNS, parameters);
    return chosen.map(({ id }) => id);
  }

  /** Those of them that could be locked with their task, at most one per task, and which open session of the pair was locked too. */
  async lockRuns(tx: Tx, runIds: readonly string[]): Promise<LockedForClaim[]> {
    const locked = await tx.prepared<LockedForClaim>(LOCK_RUNS, [tx.workspaceId, runIds]);
    const seen = new Set<string>();
    return locked.filter(({ task_id }) => task_id === null || (!seen.has(task_id) && seen.add(task_id)));
  }

  readInputs(tx: Tx, runIds: readonly string[], at: ClaimPlace): Promise<ClaimInput[]> {
    return tx.prepared<ClaimInput>(READ_INPUTS, [tx.workspaceId, runIds, at.hostId, at.leaseSec]);
  }

  /** Written with the commit; `heard` is told then what has been claimed. */
  async write(tx: Tx, at: ClaimPlace, claims: readonly ClaimWrite[], heard: (written: readonly WrittenClaim[]) => void): Promise<void> {
    const stale = claims.flatMap(({ stale_wake_ids }) => stale_wake_ids);
    if (stale.length > 0) {
      await tx.query(`update wake_requests set stale = true where workspace_id = $1 and id = any($2::uuid[])`, [tx.workspaceId, stale]);
    }
    tx.last<WrittenClaim>(
      WRITE_CLAIMS,
      [
        at.workspaceId,
        at.hostId,
        at.bootId,
        at.leaseSec,
        JSON.stringify(claims),
        claims.map(({ run_id }) => run_id),
        claims.flatMap(({ task_id }) => (task_id === null ? [] : [task_id])),
        claims.map(({ session_id }) => session_id),
      ],
      heard,
    );
  }

  /**
   * Of runs behind holds whose time is over, those that go first: one per hold, and none while another is out. Whoever is
   * left is not claimed. `candidates` in the order of the claim.
   */
  async goFirst(tx: Tx, candidates: readonly { readonly runId: string; readonly holdId: string }[]): Promise<ReadonlySet<string>> {
    if (candidates.length === 0) return new Set();
    const holdIds = [...new Set(candidates.map(({ holdId }) => holdId))].toSorted();
    const free = await tx.query<{ id: string }>(
      `select ph.id from provider_holds ph where ph.workspace_id = $1 and ph.id = any($2::uuid[]) and ${NOBODY_WENT_FIRST}
        order by ph.id for no key update skip locked`,
      [tx.workspaceId, holdIds],
    );
    const first = free.map(({ id }) => ({ hold: id, run: candidates.find(({ holdId }) => holdId === id)!.runId }));
    await tx.query(
      `update provider_holds ph set first_run_id = f.run from unnest($2::uuid[], $3::uuid[]) as f(hold, run)
        where ph.workspace_id = $1 and ph.id = f.hold`,
      [tx.workspaceId, first.map(({ hold }) => hold), first.map(({ run }) => run)],
    );
    return new Set(first.map(({ run }) => run));
  }

  async cancelStale(tx: Tx, runId: string, reason: string): Promise<void> {
    await tx.query(
      `update runs set status = 'cancelled', cancel_reason = $3, finished_at = clock_timestamp()
        where workspace_id = $1 and id = $2 and status in ('queued', 'scheduled_retry')`,
      [tx.workspaceId, runId, reason],
    );
  }

  /** Milliseconds until the next retry is due; null when none waits. By the database's clock. */
  async nextRetryMs(): Promise<number | null> {
    const [next] = await this.unitOfWork.read<{ ms: number }>(
      `select (extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as ms from runs
        where status = 'scheduled_retry' and due_at > now() order by due_at limit 1`,
    );
    return next?.ms ?? null;
  }

  /** Workspaces with anything waiting, by a walk from one to the next along the index of waiting runs. */
  async workspacesWithWork(): Promise<string[]> {
    const rows = await this.unitOfWork.read<{ workspace_id: string }>(
      `with recursive walk as (
         (select workspace_id from runs where status in ('queued', 'scheduled_retry') order by workspace_id limit 1)
         union all
         select next.workspace_id from walk cross join lateral (
           select r.workspace_id from runs r
            where r.status in ('queued', 'scheduled_retry') and r.workspace_id > walk.workspace_id
            order by r.workspace_id limit 1) next
       ) select workspace_id from walk`,
    );
    return rows.map(({ workspace_id }) => workspace_id);
  }
}
