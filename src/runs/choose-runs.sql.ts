import { EFFECTIVE_CLASS, FOLDER_HOST, waitingOnSql } from './waiting-on.sql.js';
import { workspaceGate } from './workspace-gate.sql.js';

// A CASE, because PostgreSQL takes a bare comparison for so selective that it expects to read a whole queue anyway.
const CLAIMABLE = `case when ${waitingOnSql({ leaseSec: '$2', host: '$3', busyTasks: '$4' })} = 'claimable' then true else false end`;

/**
 * The best `howMany` claimable runs of one agent. Per class the oldest come first, and ageing only ever lifts the oldest
 * of a class, so merging the heads of the four classes gives the claim order without sorting a long queue. The inner
 * ORDER BY makes PostgreSQL walk the index of waiting runs and judge them one by one until it has enough; a second one
 * around the filter, which changes nothing, would make it fetch, judge and sort them all.
 */
const bestOf = (howMany: string): string => `
  select head.* from unnest(array[0, 1, 2, 3]) as wake_class
   cross join lateral (
     select r.id, ${EFFECTIVE_CLASS} as rank, r.requested_at
       from (select r.*, ${FOLDER_HOST} from runs r
              where r.agent_id = a.id and r.status in ('queued', 'scheduled_retry') and r.wake_class = wake_class.wake_class
              order by r.requested_at, r.id) r
      where ${CLAIMABLE}
      limit ${howMany}) head
   order by head.rank, head.requested_at, head.id limit ${howMany}`;

const GATE = `gate as materialized (select pg_try_advisory_xact_lock_shared(${workspaceGate('$1')}) as open)`;

/** What an agent must be to take any run at all: known without looking at its queue, which may be long. */
const AGENT_TAKES = `a.workspace_id = $1 and a.lifecycle = 'active' and a.pause_reason is null
     and w.stopped_at is null and w.archived_at is null and free.n > 0
     and (a.cooldown_sec = 0 or a.last_run_finished_at is null
          or a.last_run_finished_at <= now() - make_interval(secs => a.cooldown_sec))`;

const FREE = `lateral (
     select least(a.max_concurrent_sessions - count(*), $5) as n from runs x where x.agent_id = a.id and x.status = 'running') free`;

/**
 * The first runs that wait in the workspace, twice as many as are wanted, and of those the claimable ones. Nearly always that is
 * enough, and spares judging the best of every agent to take a few. Where fewer are found and there were more to see
 * (`all_seen`), the best of each have to be judged.
 */
export const CHOOSE_FIRST = `
  with ${GATE}, first as materialized (
    select r.*, free.n as free from agent_instances a join workspaces w on w.id = a.workspace_id
     cross join ${FREE} cross join unnest(array[0, 1, 2, 3]) as wake_class
     cross join lateral (
       select r.id, r.task_id, r.agent_id, r.scope, r.due_at, r.requested_at, ${EFFECTIVE_CLASS} as rank, ${FOLDER_HOST} from runs r
        where r.agent_id = a.id and r.status in ('queued', 'scheduled_retry') and r.wake_class = wake_class.wake_class
        order by r.requested_at, r.id limit 2 * $5) r
     where ${AGENT_TAKES}
     order by r.rank, r.requested_at, r.id limit 2 * $5
  ), best as materialized (
    select id, agent_id, rank, requested_at from (
      select r.id, r.agent_id, r.rank, r.requested_at, r.free, row_number() over (partition by r.agent_id order by r.rank, r.requested_at, r.id) as nth
        from first r join agent_instances a on a.id = r.agent_id join workspaces w on w.id = a.workspace_id where ${CLAIMABLE}) r
     where nth <= free
  )
  select best.id, (select count(*) from first) < 2 * $5 as all_seen
    from best join agent_instances a on a.id = best.agent_id where (select open from gate)
   order by best.rank, best.requested_at, best.id limit $5
     for no key update of a skip locked`;

/**
 * The best runs of all, in the order of the claim, and the locks of their agents: whoever holds one counts its running
 * runs alone. And the gate of the workspace, shared: whoever stops the workspace takes it alone, so it waits for the claims that
 * are under way and keeps out the others. The statements that follow see `stopped_at` as it was when we had come through.
 */
export const CHOOSE_RUNS = `
  with ${GATE}
  select best.id from agent_instances a join workspaces w on w.id = a.workspace_id
   cross join ${FREE}
   cross join lateral (${bestOf('free.n')}) best
   where (select open from gate) and ${AGENT_TAKES}
   order by best.rank, best.requested_at, best.id limit $5
     for no key update of a skip locked`;
