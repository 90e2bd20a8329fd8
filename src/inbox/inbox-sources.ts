import {
  approvalTitle,
  askedTitle,
  failedTitle,
  heldTitle,
  interruptedTitle,
  lacksTitle,
  pausedTitle,
  type ItemKind,
} from './domain/item-title.js';
import { wireInstant } from '../platform/database/exact-instant.js';
import { OPEN_FAILURE } from './open-items.sql.js';

/** A task an item is about, as it is called today; of a deleted one only the identifier is left. */
export interface ItemTask {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
}

/** What a source says of one of its items, beside its id and time. */
export interface ItemFacts {
  readonly agent_name: string | null;
  readonly tasks: readonly ItemTask[];
  /** Whatever else the source's title needs. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One kind of thing that needs a person, told in SQL: a row is an item. */
export interface InboxSource {
  readonly kind: ItemKind;
  /** FROM, with whatever is joined. Every other text speaks of its aliases. */
  readonly from: string;
  /** The item's id, a uuid; unique over all kinds. */
  readonly id: string;
  readonly workspaceId: string;
  /** Which rows are items at all, open or resolved. */
  readonly is: string;
  /** Which of them are open. Must be answerable from an index together with the workspace. */
  readonly open: string;
  readonly openedAt: string;
  readonly agentId: string;
  /** The run the item is about; `null::uuid` where there is none, or many. */
  readonly runId: string;
  readonly errorSummary: string;
  /** A jsonb list of `ItemTask`. */
  readonly tasks: string;
  /** A jsonb object for `title`. */
  readonly extra: string;
  readonly title: (facts: ItemFacts) => string;
  /** What has to be known before one acts; left out, the error of the run says it. */
  readonly hint?: string;
  /** What a person can do about an open one. */
  readonly actions: readonly string[];
}

const namesOf = (ids: string): string => `(
  select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'identifier', t.identifier, 'title', t.title) order by t.number), '[]')
    from tasks t where t.id in (${ids}))`;

const failedRuns: InboxSource = {
  kind: 'agent_run_failed',
  from: `runs r`,
  id: `r.id`,
  workspaceId: `r.workspace_id`,
  is: `r.status in ('failed', 'timed_out') and r.failure_kind = 'error'`,
  open: OPEN_FAILURE,
  openedAt: `r.finished_at`,
  agentId: `r.agent_id`,
  runId: `r.id`,
  errorSummary: `r.error_summary`,
  tasks: namesOf(`r.task_id`),
  extra: `'{}'::jsonb`,
  title: ({ agent_name, tasks }) => failedTitle(agent_name ?? '', tasks[0] ?? null),
  actions: ['mark_fixed'],
};

const pauses: InboxSource = {
  kind: 'agent_paused_after_failures',
  from: `agent_pauses p`,
  id: `p.id`,
  workspaceId: `p.workspace_id`,
  is: `true`,
  open: `p.closed_at is null`,
  openedAt: `p.opened_at`,
  agentId: `p.agent_id`,
  runId: `null::uuid`,
  errorSummary: `p.reason`,
  tasks: `(
    select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'identifier', t.identifier, 'title', t.title) order by f.place), '[]')
      from (select (entry ->> 'task_id')::uuid as id, min(place) as place
              from jsonb_array_elements(p.affected) with ordinality as affected (entry, place) group by 1) f join tasks t on t.id = f.id)`,
  extra: `jsonb_build_object('failures', p.failures)`,
  title: ({ agent_name, tasks, extra }) =>
    pausedTitle(
      agent_name ?? '',
      extra['failures'] as number,
      tasks.map(({ identifier }) => identifier),
    ),
  actions: ['mark_fixed'],
};

const interruptions: InboxSource = {
  kind: 'runs_interrupted',
  from: `interruptions x`,
  id: `x.id`,
  workspaceId: `x.workspace_id`,
  is: `true`,
  open: `x.resolved_at is null`,
  openedAt: `x.opened_at`,
  agentId: `null::uuid`,
  runId: `null::uuid`,
  errorSummary: `null::text`,
  tasks: namesOf(`select r.task_id from interruption_runs n join runs r on r.id = n.run_id where n.interruption_id = x.id`),
  extra: `jsonb_build_object('cause', x.cause, 'host', (select h.name from hosts h where h.id = x.host_id))`,
  title: ({ extra }) => interruptedTitle(extra['host'] as string, extra['cause'] as string),
  actions: ['mark_fixed'],
};

const holds: InboxSource = {
  kind: 'provider_hold',
  from: `provider_holds v`,
  id: `v.id`,
  workspaceId: `v.workspace_id`,
  is: `true`,
  open: `v.ended_at is null`,
  openedAt: `v.opened_at`,
  agentId: `v.agent_id`,
  runId: `v.run_id`,
  errorSummary: `v.summary`,
  tasks: `'[]'::jsonb`,
  extra: `jsonb_build_object('adapter', v.adapter)`,
  title: ({ extra }) => heldTitle(extra['adapter'] as string),
  actions: ['lift_hold'],
};

const permissions: InboxSource = {
  kind: 'permission_request',
  from: `permission_requests q`,
  id: `q.id`,
  workspaceId: `q.workspace_id`,
  is: `true`,
  open: `q.closed_at is null`,
  openedAt: `q.asked_at`,
  agentId: `q.agent_id`,
  runId: `q.run_id`,
  errorSummary: `null::text`,
  tasks: namesOf(`q.task_id`),
  extra: `jsonb_build_object('title', q.title, 'tool_kind', q.tool_kind, 'input', q.input, 'expires_at', ${wireInstant('q.expires_at')}, 'decision', q.decision)`,
  title: ({ agent_name, tasks, extra }) => askedTitle(agent_name ?? '', extra['title'] as string, tasks[0] ?? null),
  actions: ['allow_once', 'allow_always', 'deny'],
};

const approvals: InboxSource = {
  kind: 'approval',
  from: `approvals q`,
  id: `q.id`,
  workspaceId: `q.workspace_id`,
  is: `true`,
  open: `q.status = 'pending'`,
  openedAt: `q.requested_at`,
  agentId: `q.agent_id`,
  runId: `null::uuid`,
  errorSummary: `null::text`,
  tasks: namesOf(`q.task_id`),
  extra: `jsonb_build_object('type', q.type, 'reason', q.reason)`,
  title: ({ agent_name, extra }) => approvalTitle(agent_name ?? '', extra['type'] as string, extra['reason'] as string),
  actions: ['approve', 'reject'],
};

const missingCapabilities: InboxSource = {
  kind: 'capability_missing',
  from: `missing_capabilities c`,
  id: `c.id`,
  workspaceId: `c.workspace_id`,
  is: `true`,
  open: `c.closed_at is null`,
  openedAt: `c.denied_at`,
  agentId: `c.agent_id`,
  runId: `c.run_id`,
  errorSummary: `null::text`,
  tasks: namesOf(`select r.task_id from runs r where r.id = c.run_id`),
  extra: `jsonb_build_object('capability', c.capability, 'action', c.action)`,
  title: ({ agent_name, extra }) => lacksTitle(agent_name ?? '', extra['capability'] as string, extra['action'] as string),
  hint: 'what a run may do is fixed when it begins: once allowed, the agent may from its next run on',
  actions: ['allow_always', 'mark_fixed'],
};

/**
 * Everything the inbox is made of. A further kind is one more entry here (and in `ITEM_KINDS`), nothing else: list, count,
 * look-up by id and the resolved ones follow. Its part of the bargain: when an item of it is resolved, by whomever, a row of
 * `inbox_dismissals` says who (`Dismissals.dismiss`), and one `office.inbox_item` event tells of each opening and each resolution.
 */
export const INBOX_SOURCES: readonly InboxSource[] = [
  failedRuns,
  pauses,
  interruptions,
  holds,
  permissions,
  approvals,
  missingCapabilities,
];

export const sourceOf = (kind: ItemKind): InboxSource => INBOX_SOURCES.find((source) => source.kind === kind)!;

/** The open items of workspace `$1`: kind, id, at. The one predicate of list and count. */
export const OPEN_HEADS = INBOX_SOURCES.map(
  (source) => `select '${source.kind}' as kind, ${source.id} as id, ${source.openedAt} as at
     from ${source.from} where ${source.workspaceId} = $1 and ${source.is} and ${source.open}`,
).join('\n union all ');

/** Of which kind the item `$2` of workspace `$1` is. */
export const KIND_OF = INBOX_SOURCES.map(
  (source) => `select '${source.kind}' as kind from ${source.from} where ${source.workspaceId} = $1 and ${source.id} = $2 and ${source.is}`,
).join('\n union all ');

/** What its source says of each row of `head` (kind, id). */
export const DETAILS = `lateral (${INBOX_SOURCES.map(
  (source) => `select ${source.agentId} as agent_id, ${source.runId} as run_id, ${source.errorSummary} as error_summary,
       ${source.openedAt} as opened_at, ${source.tasks} as tasks, ${source.extra} as extra
     from ${source.from} where head.kind = '${source.kind}' and ${source.id} = head.id`,
).join('\n union all ')}) detail`;
