import { Injectable } from '@nestjs/common';
import { Batches } from '../platform/database/batches.js';
import { Nudges } from '../platform/database/nudges.js';
import type { Nudge } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { EntryWrite } from './domain/entry.js';

/** The attempt at a run that a transcript is written for: its fencing pair, and where it belongs. */
export interface TranscribedRun {
  readonly runId: string;
  readonly generation: number;
  readonly workspaceId: string;
  readonly sessionId: string;
  /** Of the session, from 1. */
  readonly turn: number;
}

export interface TranscriptBatch {
  readonly run: TranscribedRun;
  /** 1, 2, 3 … within the attempt; a batch that is said again keeps its number. */
  readonly number: number;
  /** How many entries and tool calls the attempt has with this batch. */
  readonly entries: number;
  readonly tools: number;
  readonly writes: readonly EntryWrite[];
}

/** `stale`: the run is not its writer's any more, or its transcript was removed; nothing was written. */
export type Written = 'written' | 'stale';

/** As many runs share a commit under load. */
const TOGETHER = 16;
const TOLD: ReadonlySet<Nudge> = new Set(['transcript']);

/**
 * Batches of several runs, one each. The run is held FOR SHARE, so that it cannot be settled under the write: a terminal run has
 * its whole transcript, and whoever lost it writes nothing. Then the session's counter, held to the commit: revisions become
 * visible in their order. A batch that was written, but whose answer was lost, lands in the same place when it is said again.
 */
const WRITE = `
  with head as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::uuid[], $5::int[], $6::int[], $7::int[], $8::int[], $9::int[])
      as h (run_id, generation, session_id, turn, batch, entries, tools, changed)
  ), mine as materialized (
    select id, generation from runs
     where workspace_id = $1 and id = any($2::uuid[]) and status = 'running' order by id for share
  ), place as (
    insert into session_transcripts as t (session_id, workspace_id, run_id, generation, batch, first_seq, last_seq, last_rev)
    select h.session_id, $1, h.run_id, h.generation, h.batch, 1, h.entries, h.changed
      from head h join mine m on m.id = h.run_id and m.generation = h.generation order by h.session_id
    on conflict (session_id) do update
       set run_id = excluded.run_id, generation = excluded.generation, batch = excluded.batch,
           first_seq = case when t.run_id = excluded.run_id and t.generation = excluded.generation then t.first_seq else t.last_seq + 1 end,
           last_seq = case when t.run_id = excluded.run_id and t.generation = excluded.generation then t.first_seq - 1 else t.last_seq end
                      + excluded.last_seq,
           last_rev = t.last_rev + excluded.last_rev
     where t.removed_at is null
       and (t.run_id is distinct from excluded.run_id or t.generation is distinct from excluded.generation or t.batch <= excluded.batch)
    returning session_id, first_seq, last_rev
  ), entry as materialized (
    select w.*, h.run_id, h.generation, h.turn, p.session_id, p.first_seq + w.place as seq, p.last_rev - h.changed + w.nth as rev
      from unnest($10::int[], $11::int[], $12::int[], $13::boolean[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
                  $19::bigint[], $20::boolean[]) as w (of, nth, place, is_new, kind, acp_id, title, status, body, bytes, truncated)
      join head h on h.run_id = ($2::uuid[])[w.of] join place p on p.session_id = h.session_id
  ), added as (
    insert into session_entries as e (session_id, seq, workspace_id, run_id, generation, turn, kind, acp_id, title, status, body, bytes, truncated, rev)
    select session_id, seq, $1, run_id, generation, turn, kind, acp_id, title, status, body, bytes, truncated, rev from entry where is_new
    on conflict (session_id, seq) do update
       set title = excluded.title, status = excluded.status, body = excluded.body, bytes = excluded.bytes, truncated = excluded.truncated,
           rev = excluded.rev, updated_at = clock_timestamp()
  ), changed as (
    update session_entries e
       set title = n.title, status = n.status, rev = n.rev, updated_at = clock_timestamp(),
           body = case when n.body is null then e.body else n.body end,
           bytes = case when n.body is null then e.bytes else n.bytes end,
           truncated = case when n.body is null then e.truncated else n.truncated end
      from entry n where not n.is_new and e.session_id = n.session_id and e.seq = n.seq
  ), attempt as (
    update run_attempts a set first_seq = p.first_seq, last_seq = p.first_seq + h.entries - 1, tools = h.tools
      from head h join place p on p.session_id = h.session_id
     where a.run_id = any($2::uuid[]) and a.run_id = h.run_id and a.generation = h.generation and h.entries > 0
  )
  select session_id from place`;

/** The only writer of transcripts. What is asked for at the same moment in one workspace shares a statement. */
@Injectable()
export class TranscriptWriter {
  private readonly batches = new Map<string, Batches<TranscriptBatch, Written>>();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly nudges: Nudges,
  ) {}

  /** Safe to repeat. */
  write(batch: TranscriptBatch): Promise<Written> {
    const { workspaceId } = batch.run;
    let batches = this.batches.get(workspaceId);
    if (batches === undefined) {
      batches = new Batches(
        (together) => this.writeTogether(workspaceId, together),
        TOGETHER,
        ({ run }) => run.sessionId,
        () => this.batches.delete(workspaceId),
      );
      this.batches.set(workspaceId, batches);
    }
    return batches.ask(batch);
  }

  private async writeTogether(workspaceId: string, batches: readonly TranscriptBatch[]): Promise<Written[]> {
    const rows = batches.flatMap(({ writes }, index) => writes.map((write, nth) => ({ ...write, of: index + 1, nth: nth + 1 })));
    const written = await this.unitOfWork.statement<{ session_id: string }>(WRITE, [
      workspaceId,
      batches.map(({ run }) => run.runId),
      batches.map(({ run }) => run.generation),
      batches.map(({ run }) => run.sessionId),
      batches.map(({ run }) => run.turn),
      batches.map(({ number }) => number),
      batches.map(({ entries }) => entries),
      batches.map(({ tools }) => tools),
      batches.map(({ writes }) => writes.length),
      rows.map(({ of }) => of),
      rows.map(({ nth }) => nth),
      rows.map(({ place }) => place),
      rows.map(({ isNew }) => isNew),
      rows.map(({ kind }) => kind),
      rows.map(({ acpId }) => acpId),
      rows.map(({ title }) => title),
      rows.map(({ status }) => status),
      rows.map(({ body }) => body),
      rows.map(({ bytes }) => bytes),
      rows.map(({ truncated }) => truncated),
    ]);
    if (written.length > 0) this.nudges.send(workspaceId, TOLD);
    const sessions = new Set(written.map(({ session_id }) => session_id));
    return batches.map(({ run }) => (sessions.has(run.sessionId) ? 'written' : 'stale'));
  }
}
