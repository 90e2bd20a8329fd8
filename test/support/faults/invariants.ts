import type pg from 'pg';
import { processesWith } from '../real-server.js';
import type { Fleet } from './fleet.js';
import type { Staff } from './workload.js';

/** Each answers the rows that must not be there, whatever happened. Of an office at rest, unless it says `always`. */
const NEVER: Readonly<Record<string, string>> = {
  'runs that neither ended nor wait for anybody': `select id, status from runs where status in ('queued', 'scheduled_retry', 'running')`,
  'wakes that were never placed, or lead to no run': `
    select id, outcome from wake_requests where outcome = 'pending' or (outcome <> 'refused' and run_id is null)`,
  'runs nobody asked for': `select id from runs r where not exists (select from wake_requests q where q.run_id = r.id) and merged_into is null`,
  'attempts without an outcome': `select run_id, generation from run_attempts where outcome is null or finished_at is null`,
  'generations that are no attempt, or attempts that are no generation': `
    select r.id, r.generation from runs r where r.generation <> (select count(*) from run_attempts a where a.run_id = r.id)`,
  'two attempts on one task at once': `
    select a.run_id, b.run_id as other from run_attempts a join runs r on r.id = a.run_id
      join runs q on q.task_id = r.task_id join run_attempts b on b.run_id = q.id and (b.run_id, b.generation) > (a.run_id, a.generation)
     where a.claimed_at < b.finished_at and b.claimed_at < a.finished_at`,
  'agents above their limit': `
    select agent_id, busy from (
      select r.agent_id, sum(m.step) over (partition by r.agent_id order by m.at, m.step) as busy
        from run_attempts a join runs r on r.id = a.run_id cross join lateral (values (a.claimed_at, 1), (a.finished_at, -1)) m(at, step)) s
      join agent_instances g on g.id = s.agent_id where s.busy > g.max_concurrent_sessions`,
  'runs that were told to have ended twice, never, or otherwise than they did': `
    select r.id, r.status, t.ends from runs r cross join lateral (
      select coalesce(jsonb_agg(e.payload ->> 'status' order by e.seq), '[]') as ends from office_events e
       where e.workspace_id = r.workspace_id and e.action = 'office.wakeup.updated' and e.payload ->> 'wakeup_id' = r.id::text
         and e.payload ->> 'status' in ('completed', 'failed', 'timed_out', 'cancelled')) t
     where r.status in ('completed', 'failed', 'timed_out', 'cancelled') and t.ends <> jsonb_build_array(r.status)`,
  'counters that are not the failures since the last success or Mark fixed': `
    select a.id, a.consecutive_failures, c.counted from agent_instances a cross join lateral (
      select count(*)::int as counted from runs r
       where r.agent_id = a.id and r.failure_kind = 'error' and r.finished_at > greatest(
         coalesce((select max(s.finished_at) from runs s where s.agent_id = a.id and s.status = 'completed'), '-infinity'),
         coalesce((select max(p.closed_at) from agent_pauses p where p.agent_id = a.id and p.closed_by = 'mark_fixed'), '-infinity'))) c
     where a.consecutive_failures <> c.counted`,
  'gaps in the events': `select workspace_id from office_events group by workspace_id having max(seq) <> count(*) or min(seq) <> 1`,
  'events beyond their counter': `
    select c.workspace_id from office_event_counters c
     where c.last_seq <> (select coalesce(max(seq), 0) from office_events e where e.workspace_id = c.workspace_id)`,
  'sessions that look alive': `select id, state from task_sessions where state in ('STARTING', 'RUNNING')`,
  'two open sessions of one pair': `
    select task_id, agent_id from task_sessions where task_id is not null and state not in ('COMPLETED', 'CANCELLED')
     group by task_id, agent_id having count(*) > 1`,
  'interrupted runs that no restart answers for, or two': `
    select r.id from runs r where r.failure_kind = 'interrupted' and (select count(*) from interruption_runs n where n.run_id = r.id) <> 1`,
  'more than one last message of a run': `
    select run_id from task_comments where source = 'session' group by run_id having count(*) > 1`,
  'last messages of runs that did not complete': `
    select c.run_id from task_comments c join runs r on r.id = c.run_id where c.source = 'session' and r.status <> 'completed'`,
  'late results on runs that their owner settled': `
    select run_id, outcome, late_result from run_attempts where late_result is not null and outcome not in ('interrupted', 'requeued')`,
  'agents shown otherwise than was told last': `
    select a.id, told.status from agent_instances a cross join lateral (
      select e.payload ->> 'status' as status from office_events e
       where e.workspace_id = a.workspace_id and e.action = 'office.agent.updated' and e.payload ->> 'agent_id' = a.id::text
       order by e.seq desc limit 1) told
     where told.status <> case when a.lifecycle <> 'active' then a.lifecycle when a.pause_source is not null then 'paused' else 'idle' end`,
};

/** What is wrong with an office at rest: in its database, on its wire, and among the machine's processes. */
export async function violations(db: pg.Pool, fleet: Fleet, staff: Staff): Promise<string[]> {
  const found: string[] = [];
  for (const [what, sql] of Object.entries(NEVER)) {
    const { rows } = await db.query(sql);
    if (rows.length > 0) found.push(`${what}: ${rows.length}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  }
  for (const workspaceId of staff.workspaces) {
    found.push(...(await inboxOf(fleet, workspaceId)));
    const left = processesWith(`OFFICE_WORKSPACE_ID=${workspaceId}`);
    if (left.length > 0) found.push(`processes of agents: ${left.join()}`);
  }
  return [...found, ...fleet.complaints];
}

interface InboxEvent {
  readonly action: string;
  readonly seq: number;
  readonly payload: { readonly item_id: string; readonly change: 'opened' | 'resolved' };
}

/** The list, the count, the badge and what the events add up to are the same. */
async function inboxOf(fleet: Fleet, workspaceId: string): Promise<string[]> {
  const listed = (await fleet.all<{ id: string }>(`GET /workspaces/${workspaceId}/inbox`)).map(({ id }) => id).sort();
  const { open } = await fleet.must<{ open: number }>(`GET /workspaces/${workspaceId}/inbox/count`);
  const { inbox: badge } = await fleet.must<{ inbox: number }>(`GET /workspaces/${workspaceId}/sidebar`);
  const told = new Set<string>();
  for (let after = 0; ;) {
    const { items, last_seq } = await fleet.must<{ items: InboxEvent[]; last_seq: number }>(
      `GET /workspaces/${workspaceId}/events?after=${after}&limit=200`,
    );
    for (const { action, payload } of items) {
      if (action !== 'office.inbox_item') continue;
      if (payload.change === 'opened') told.add(payload.item_id);
      else told.delete(payload.item_id);
    }
    after = items.at(-1)?.seq ?? last_seq;
    if (after >= last_seq) break;
  }
  const byEvents = [...told].sort();
  return JSON.stringify(listed) === JSON.stringify(byEvents) && open === listed.length && badge === open
    ? []
    : [`the inbox of ${workspaceId}: list ${listed.length}, count ${open}, badge ${badge}, by events ${byEvents.length}`];
}
