import { exactInstant, instantOf, wireInstant } from '../platform/database/exact-instant.js';

/** One source of entries of task `$2` of workspace `$1`: where its rows are found in the order of time, and what an entry says. */
interface TimelineSource {
  readonly kind: 'comment' | 'turn' | 'status' | 'error' | 'decision';
  readonly from: string;
  readonly where: string;
  readonly at: string;
  readonly id: string;
  /** A jsonb object; `task` is the task's row, `s` the session of a run. */
  readonly body: string;
  readonly joins?: string;
}

const nameOf = (kind: string, id: string): string => `case ${kind}
  when 'user' then (select u.name from users u where u.id = ${id})
  when 'agent' then (select a.name from agent_instances a where a.id = ${id}) end`;
const actorOf = (alias: string): string =>
  `jsonb_build_object('kind', ${alias}.actor_kind, 'id', ${alias}.actor_id, 'name', ${nameOf(`${alias}.actor_kind`, `${alias}.actor_id`)})`;
const agentOf = (id: string): string => `(select jsonb_build_object('id', a.id, 'name', a.name) from agent_instances a where a.id = ${id})`;

/** A payload may have a megabyte; a page shows this much of each and says so. The whole is in the run. */
export const DETAILS_CHARACTERS = 64 * 1024;

/**
 * What a task went through. Each source has an index of (task, time, id), so a page costs its own length, not the task's. A further
 * source is one more entry here. Their order decides between entries of the same microsecond.
 */
const SOURCES: readonly TimelineSource[] = [
  {
    kind: 'status',
    from: `task_step_transitions e`,
    where: `e.workspace_id = $1 and e.task_id = $2`,
    at: `e.occurred_at`,
    id: `e.id`,
    body: `jsonb_build_object('what', 'step', 'by', ${actorOf('e')},
      'from', (select w.name from workflow_steps w where w.id = e.from_step_id), 'to', (select w.name from workflow_steps w where w.id = e.to_step_id))`,
  },
  {
    kind: 'status',
    from: `task_state_changes e`,
    where: `e.workspace_id = $1 and e.task_id = $2`,
    at: `e.occurred_at`,
    id: `e.id`,
    body: `jsonb_build_object('what', 'state', 'by', ${actorOf('e')}, 'from', e.from_state, 'to', e.to_state)`,
  },
  {
    kind: 'comment',
    from: `task_comments e`,
    where: `e.workspace_id = $1 and e.task_id = $2`,
    at: `e.created_at`,
    id: `e.id`,
    body: `jsonb_build_object('source', e.source, 'run_id', e.run_id, 'body', e.body,
      'author', jsonb_build_object('kind', e.author_kind, 'id', e.author_id, 'name', ${nameOf('e.author_kind', 'e.author_id')}))`,
  },
  {
    kind: 'turn',
    from: `runs e`,
    where: `e.workspace_id = $1 and e.task_id = $2 and e.started_at is not null`,
    at: `e.started_at`,
    id: `e.id`,
    joins: `cross join lateral (
      select min(n.first_seq) as from_seq, max(n.last_seq) as to_seq, sum(n.tools) as tools from run_attempts n where n.run_id = e.id) said`,
    body: `jsonb_build_object('run_id', e.id, 'session_id', e.session_id, 'agent', ${agentOf('e.agent_id')}, 'reason', e.reason, 'status', e.status,
      'from_seq', said.from_seq, 'to_seq', said.to_seq, 'tools', coalesce(said.tools, 0),
      'duration_ms', (extract(epoch from e.finished_at - e.started_at) * 1000)::bigint, 'tokens', (e.usage ->> 'total_tokens')::bigint)`,
  },
  {
    kind: 'error',
    from: `runs e`,
    where: `e.workspace_id = $1 and e.task_id = $2 and e.status in ('failed', 'timed_out')`,
    at: `e.finished_at`,
    id: `e.id`,
    joins: `left join task_sessions s on s.id = e.session_id`,
    body: `jsonb_build_object('run_id', e.id, 'session_id', e.session_id, 'agent', ${agentOf('e.agent_id')},
      'details', left(e.error_message, ${DETAILS_CHARACTERS}), 'details_truncated', length(e.error_message) > ${DETAILS_CHARACTERS},
      'error_class', e.error_class, 'error_code', e.error_code, 'retry_after', ${wireInstant('e.retry_after')},
      'adapter', (select a.adapter from agent_instances a where a.id = e.agent_id), 'interrupted', e.failure_kind = 'interrupted', 'session_failed', coalesce(s.state = 'FAILED', false))`,
  },
  {
    kind: 'decision',
    from: `task_step_decisions e`,
    where: `e.workspace_id = $1 and e.task_id = $2`,
    at: `e.decided_at`,
    id: `e.id`,
    body: `jsonb_build_object('step', (select w.name from workflow_steps w where w.id = e.step_id), 'role', e.role, 'decision', e.decision,
      'note', e.note, 'superseded', e.superseded_at is not null, 'run_id', e.run_id,
      'seat', jsonb_build_object('kind', case when e.agent_id is null then 'user' else 'agent' end, 'id', coalesce(e.agent_id, e.user_id),
        'name', coalesce((select a.name from agent_instances a where a.id = e.agent_id), (select u.name from users u where u.id = e.user_id))),
      'by', jsonb_build_object('kind', e.decided_by_kind, 'id', e.decided_by_id, 'name', ${nameOf('e.decided_by_kind', 'e.decided_by_id')}))`,
  },
];

const PLACE = instantOf('$4');

/** `$4`, `$5`, `$6`: time, source and id of the last entry of the page before. */
const places = (from: 'start' | 'place'): string =>
  SOURCES.map(({ from: rows, where, at, id }, source) => {
    const after = from === 'start' ? '' : ` and ${at} >= ${PLACE} and (${at}, ${source}, ${id}) > (${PLACE}, $5::int, $6::uuid)`;
    return `(select ${at} as at, ${source} as source, ${id} as id from ${rows} where ${where}${after} order by ${at}, ${id} limit $3)`;
  }).join('\n union all ');

const bodies = SOURCES.map(
  ({ kind, from, id, joins = '', body }, source) =>
    `select '${kind}' as kind, ${body} as body from ${from} ${joins} where page.source = ${source} and ${id} = page.id`,
).join('\n union all ');

/** Oldest first, from the start or from a place on. */
export const timelinePage = (from: 'start' | 'place'): string => `
  with page as (select * from (${places(from)}) place order by at, source, id limit $3)
  select page.source, page.id, page.at, ${exactInstant('page.at')} as exact_at, entry.kind, entry.body
    from page cross join lateral (${bodies}) entry order by page.at, page.source, page.id`;
