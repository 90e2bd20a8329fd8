import { Injectable } from '@nestjs/common';
import type { Capability } from '../access/domain/capabilities.js';
import { hintFor, type HintAbout } from '../diagnosis/domain/hint.js';
import { exactInstant, instantOf, isExactInstant, wireInstant } from '../platform/database/exact-instant.js';
import type { Reading } from '../platform/database/reading.js';
import { outside } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { pageFrom } from '../platform/http/page.view.js';
import { isUuid } from '../platform/http/uuid.js';
import type { ItemKind } from './domain/item-title.js';
import type { InboxQuery } from './inbox.dto.js';
import { DETAILS, KIND_OF, OPEN_HEADS, sourceOf, type ItemFacts } from './inbox-sources.js';
import type { AskedPermissionView, InboxCountView, InboxItemView, InboxPage } from './inbox.view.js';

interface Row extends ItemFacts {
  readonly kind: ItemKind;
  readonly id: string;
  readonly place: string;
  readonly agent_id: string | null;
  readonly run_id: string | null;
  readonly error_summary: string | null;
  /** Of the run the item is about. */
  readonly fault: (HintAbout & { readonly class: string | null }) | null;
  readonly opened_at: Date | null;
  readonly resolved_by: string | null;
  readonly resolver_name: string | null;
  readonly resolved_at: Date | null;
}

const RESOLUTION = `d.user_id as resolved_by, (select u.name from users u where u.id = d.user_id) as resolver_name, d.dismissed_at as resolved_at`;

/** Newest first: by when it opened, or by when it was resolved. `$2`, `$3`: the place the page begins after, or null. */
const page = (heads: string, resolution: { columns: string; join: string }): string => `
  with head as (
    select * from (${heads}) head
     where $2::bigint is null or (head.at, head.id) < (${instantOf('$2')}, $3::uuid)
     order by head.at desc, head.id desc limit $4
  )
  select head.kind, head.id, ${exactInstant('head.at')} as place, detail.*, (select a.name from agent_instances a where a.id = detail.agent_id) as agent_name,
         (select jsonb_build_object('code', r.error_code, 'class', r.error_class, 'adapter', a.adapter, 'retrying', false,
                                    'retryAfter', ${wireInstant('r.retry_after')})
            from runs r join agent_instances a on a.id = r.agent_id where r.id = detail.run_id) as fault,
         ${resolution.columns}
    from head left join ${DETAILS} on true ${resolution.join}
   order by head.at desc, head.id desc`;

const OPEN_PAGE = page(OPEN_HEADS, { columns: 'null as resolved_by, null as resolver_name, null as resolved_at', join: '' });
const RESOLVED_PAGE = page(`select item_kind as kind, item_id as id, dismissed_at as at from inbox_dismissals where workspace_id = $1`, {
  columns: RESOLUTION,
  join: 'join inbox_dismissals d on d.item_kind = head.kind and d.item_id = head.id',
});
const COUNT = `select count(*)::int as open from (${OPEN_HEADS}) head`;

/** The inbox as people see it: a view over runs, episodes and interruptions, the same for everybody in the workspace. */
@Injectable()
export class InboxReads {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  async list(workspaceId: string, { state, limit, cursor }: InboxQuery): Promise<InboxPage> {
    const [at, id] = decodeCursor(cursor, isPlace)?.split(' ') ?? [null, null];
    const rows = await this.unitOfWork.readPrepared<Row>(state === 'open' ? OPEN_PAGE : RESOLVED_PAGE, [workspaceId, at, id, limit + 1]);
    const page = pageFrom(
      rows,
      limit,
      (row) => `${row.place} ${row.id}`,
      (row) => row,
    );
    // What was dismissed long ago may have been cleared away since; it counts as a place in the list all the same.
    const there = page.items.filter(({ opened_at }) => opened_at !== null);
    return { ...page, items: there.map(state === 'open' ? viewOpen : viewResolved) };
  }

  count(workspaceId: string): Promise<InboxCountView> {
    return this.countIn(outside(this.unitOfWork), workspaceId);
  }

  async countIn(db: Reading, workspaceId: string): Promise<InboxCountView> {
    const [count] = await db.prepared<InboxCountView>(COUNT, [workspaceId]);
    return count!;
  }

  /** Null: the workspace has no such item, open or resolved. */
  async kindOf(db: Reading, workspaceId: string, itemId: string): Promise<ItemKind | null> {
    const [row] = await db.prepared<{ kind: ItemKind }>(KIND_OF, [workspaceId, itemId]);
    return row?.kind ?? null;
  }
}

function isPlace(key: string): boolean {
  const [at = '', id = '', ...rest] = key.split(' ');
  return rest.length === 0 && isExactInstant(at) && isUuid(id);
}

const view = (row: Row, resolved: InboxItemView['resolved']): InboxItemView => {
  const source = sourceOf(row.kind);
  const fault = source.hint === undefined ? row.fault : null;
  return {
    id: row.id,
    kind: row.kind,
    title: source.title(row),
    agent_id: row.agent_id,
    agent_name: row.agent_name,
    task_ids: row.tasks.map(({ id }) => id),
    tasks: row.tasks.map((task) => ({ ...task })),
    run_id: row.run_id,
    error_summary: row.error_summary,
    error_class: fault?.class ?? null,
    error_code: fault?.code ?? null,
    hint: source.hint ?? (fault === null ? null : hintFor(fault)),
    created_at: row.opened_at!.toISOString(),
    permission: row.kind === 'permission_request' ? (row.extra as unknown as AskedPermissionView) : null,
    capability: row.kind === 'capability_missing' ? (row.extra['capability'] as Capability) : null,
    actions: resolved === null ? [...source.actions] : [],
    resolved,
  };
};

const viewOpen = (row: Row): InboxItemView => view(row, null);
const viewResolved = (row: Row): InboxItemView =>
  view(row, { by: { id: row.resolved_by!, name: row.resolver_name! }, at: row.resolved_at!.toISOString() });
