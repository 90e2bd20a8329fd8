import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';

/** Rows of one transaction. */
const BATCH = 1_000;

/** Emptied entries are changed entries: whoever follows by revision hears of it. The counter is held first, as by whoever writes. */
const EMPTY = `
  with old as materialized (
    select session_id, seq, row_number() over (order by seq) as nth from session_entries
     where workspace_id = $1 and run_id = $2 and kind in ('tool', 'thought') and body <> '' order by seq limit ${BATCH}
  ), counter as (
    update session_transcripts t set last_rev = t.last_rev + (select count(*) from old)
     where t.session_id = (select session_id from old limit 1) returning t.last_rev
  )
  update session_entries e
     set body = '', truncated = true, updated_at = clock_timestamp(), rev = c.last_rev - (select count(*) from old) + o.nth
    from old o, counter c where e.session_id = o.session_id and e.seq = o.seq returning e.seq`;

const REMOVE = (whose: 'run_id' | 'session_id'): string => `
  delete from session_entries e using (
    select session_id, seq from session_entries where workspace_id = $1 and ${whose} = $2 order by seq limit ${BATCH}) o
   where e.session_id = o.session_id and e.seq = o.seq returning e.seq`;

const REMOVED = `
  select t.workspace_id, t.session_id from session_transcripts t
   where t.removed_at is not null and exists (select from session_entries e where e.session_id = t.session_id) limit 100`;

/** What becomes of transcripts in time, a batch a transaction. All of it harmless twice, and when it stops half-way. */
@Injectable()
export class TranscriptAging {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** The bodies of a run's tools and thoughts. Answers how many entries were emptied; of an aborted call not all are. */
  emptyBodies(workspaceId: string, runId: string, signal: AbortSignal): Promise<number> {
    return this.inBatches(workspaceId, EMPTY, runId, signal);
  }

  /** All entries of a run. */
  removeOfRun(workspaceId: string, runId: string, signal: AbortSignal): Promise<number> {
    return this.inBatches(workspaceId, REMOVE('run_id'), runId, signal);
  }

  /** What deletions of tasks have left for later. */
  async removeRemoved(signal: AbortSignal): Promise<number> {
    let gone = 0;
    for (;;) {
      const sessions = await this.unitOfWork.read<{ workspace_id: string; session_id: string }>(REMOVED);
      if (sessions.length === 0 || signal.aborted) return gone;
      for (const { workspace_id, session_id } of sessions)
        gone += await this.inBatches(workspace_id, REMOVE('session_id'), session_id, signal);
    }
  }

  private async inBatches(workspaceId: string, sql: string, id: string, signal: AbortSignal): Promise<number> {
    let all = 0;
    for (let some = BATCH; some === BATCH && !signal.aborted; all += some) {
      some = await this.unitOfWork.run(workspaceId, async (tx) => {
        const rows = await tx.query(sql, [workspaceId, id]);
        if (rows.length > 0) tx.nudge('transcript');
        return rows.length;
      });
    }
    return all;
  }
}
