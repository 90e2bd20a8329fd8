import { Injectable } from '@nestjs/common';
import { wireInstant } from '../platform/database/exact-instant.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { invalid } from '../platform/http/input-validation.js';
import type { EntriesQuery } from './transcript.dto.js';
import { SHOWN_BYTES, viewShort, viewWhole, type EntryRow, type SessionEntriesView, type SessionEntryView } from './transcript.view.js';

const BEYOND_ANY_SEQ = '2147483647';

/** `body` is what is read of it: a list must not fetch what it does not show. */
const columns = (body: string): string => `e.session_id, e.seq, e.rev, e.run_id, e.generation, e.turn, e.kind, e.acp_id, e.title, e.status,
  ${body} as body, octet_length(e.body) as kept, e.bytes, e.truncated, ${wireInstant('e.created_at')} as created_at,
  ${wireInstant('e.updated_at')} as updated_at`;
const SHORT = columns(`left(e.body, ${SHOWN_BYTES})`);
const WHOLE = columns('e.body');

/** The session `$2` unless it was removed, or that of the run `$2`. */
const HEADS = {
  session: `select s.id as session_id, null::uuid as run_id, coalesce(t.last_rev, 0) as last_rev
      from task_sessions s left join session_transcripts t on t.session_id = s.id left join tasks k on k.id = s.task_id
     where s.workspace_id = $1 and s.id = $2 and t.removed_at is null and k.deleted_at is null`,
  run: `select r.session_id, r.id as run_id, coalesce(t.last_rev, 0) as last_rev
      from runs r left join session_transcripts t on t.session_id = r.session_id where r.workspace_id = $1 and r.id = $2`,
} as const;
type Whose = keyof typeof HEADS;

const OF: Readonly<Record<Whose, string>> = {
  session: 'o.session_id = head.session_id',
  run: 'o.run_id = head.run_id and o.session_id = head.session_id',
};

/**
 * The page is found by the one column it is ordered by, which an index holds together with the session, and only then read. In one
 * step, and without statistics (a session that has just said a lot), the planner would rather read all of the session and sort it.
 */
const page = (whose: Whose, column: 'seq' | 'rev', where: string, order: string): string => `
  with head as (${HEADS[whose]})
  select head.last_rev, ${SHORT} from head
    left join lateral (
      select o.${column} from session_entries o where ${OF[whose]} and ${where} order by o.${column} ${order} limit $4) place on true
    left join session_entries e on e.session_id = head.session_id and e.${column} = place.${column}
   order by e.${column} ${order}`;

/** One statement each, so that the entries and the revision they stand for are of one moment. */
const newest = (whose: Whose): string => page(whose, 'seq', 'o.seq < $3', 'desc');
const changed = (whose: Whose): string => page(whose, 'rev', 'o.rev > $3', '');
const SQL = {
  session: { newest: newest('session'), changed: changed('session') },
  run: { newest: newest('run'), changed: changed('run') },
} as const;

const ONE = `with head as (${HEADS.session}) select ${WHOLE} from head join session_entries e on e.session_id = head.session_id where e.seq = $3`;

/** Up to so many bytes of bodies, at least one entry. */
const EXPORT_BYTES = 2 * 1024 * 1024;
const EXPORT_ENTRIES = 500;
const EXPORT = `
  select ${WHOLE} from (
    select o.session_id, o.seq, sum(octet_length(o.body)) over (order by o.seq) - octet_length(o.body) as before
      from session_entries o
      join (select e.session_id, e.seq from session_entries e where e.run_id = $2 and e.seq > $3 order by e.seq limit ${EXPORT_ENTRIES}) next
        on next.session_id = o.session_id and next.seq = o.seq) place
    join session_entries e on e.session_id = place.session_id and e.seq = place.seq
   where e.workspace_id = $1 and place.before < ${EXPORT_BYTES} order by e.seq`;

type PageRow = EntryRow & { readonly last_rev: string; readonly seq: number | null };

/** A page without entries is one row, of the session alone. */
const entriesOf = (rows: readonly PageRow[]): SessionEntryView[] =>
  rows.filter(({ seq }) => seq !== null).map(({ last_rev: _last, ...row }) => viewShort(row));

/** Transcripts as people see them. */
@Injectable()
export class TranscriptReads {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  ofSession(workspaceId: string, sessionId: string, query: EntriesQuery): Promise<SessionEntriesView> {
    return this.page('session', workspaceId, sessionId, query);
  }

  ofRun(workspaceId: string, runId: string, query: EntriesQuery): Promise<SessionEntriesView> {
    return this.page('run', workspaceId, runId, query);
  }

  /** For those who follow: at most `limit` entries changed since, by revision, and the session's newest. Of a removed one nothing. */
  async changedSince(
    workspaceId: string,
    sessionId: string,
    afterRev: number,
    limit: number,
  ): Promise<{ entries: SessionEntryView[]; newest: number }> {
    const rows = await this.unitOfWork.read<PageRow>(SQL.session.changed, [workspaceId, sessionId, afterRev, limit]);
    return { entries: entriesOf(rows), newest: rows[0] === undefined ? afterRev : Number(rows[0].last_rev) };
  }

  /** With all that is kept of its body. */
  async one(workspaceId: string, sessionId: string, seq: number): Promise<SessionEntryView> {
    const [row] = await this.unitOfWork.read<EntryRow>(ONE, [workspaceId, sessionId, seq]);
    if (row === undefined) throw new OfficeError('not_found');
    return viewWhole(row);
  }

  /** Every entry of the run, whole, oldest first, in pieces of bounded size: JSON, a line each. */
  async *exportOf(workspaceId: string, runId: string): AsyncGenerator<string> {
    for (let after = 0; ;) {
      const rows = await this.unitOfWork.read<EntryRow>(EXPORT, [workspaceId, runId, after]);
      if (rows.length === 0) return;
      yield rows.map((row) => `${JSON.stringify(viewWhole(row))}\n`).join('');
      after = rows.at(-1)!.seq;
    }
  }

  private async page(
    whose: Whose,
    workspaceId: string,
    id: string,
    { after_rev: afterRev, before_seq: beforeSeq, limit }: EntriesQuery,
  ): Promise<SessionEntriesView> {
    if (afterRev !== undefined && beforeSeq !== undefined) {
      throw invalid([{ path: 'before_seq', problem: 'does not go together with after_rev' }]);
    }
    const { newest, changed } = SQL[whose];
    const rows = await this.unitOfWork.read<PageRow>(afterRev === undefined ? newest : changed, [
      workspaceId,
      id,
      afterRev ?? beforeSeq ?? BEYOND_ANY_SEQ,
      limit + 1,
    ]);
    const [head] = rows;
    if (head === undefined) throw new OfficeError('not_found');
    const found = entriesOf(rows);
    const items = found.slice(0, limit);
    const last = items.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    if (afterRev === undefined) {
      return { items: items.reverse(), next_cursor: hasMore ? String(last.seq) : null, last_rev: Number(head.last_rev) };
    }
    return { items, next_cursor: hasMore ? String(last.rev) : null, last_rev: hasMore ? last.rev : Number(head.last_rev) };
  }
}
