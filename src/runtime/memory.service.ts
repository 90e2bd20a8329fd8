import { Injectable } from '@nestjs/common';
import type { RunIdentity } from '../access/domain/run-access.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import type { MemoryPlace } from './domain/memory-path.js';

export interface MemoryRow {
  readonly content: string;
  readonly updated_at: Date;
}

/** Of one namespace. Enough for notes, too little for a database. */
const MOST_ENTRIES = 1_000;

/** The rows of `memory_entries`. Every write is later than the one before it, by whole milliseconds: that is what writers compare. */
@Injectable()
export class Memory {
  async read(tx: Tx, workspaceId: string, place: MemoryPlace): Promise<MemoryRow | null> {
    const [row] = await tx.query<MemoryRow>(
      `select content, updated_at from memory_entries where workspace_id = $1 and namespace = $2 and owner_id = $3 and key = $4`,
      [workspaceId, place.namespace, place.ownerId, place.key],
    );
    return row ?? null;
  }

  /** Answers what was replaced. `expected`: undefined does not ask, null wants nothing there, an instant wants exactly that. */
  async write(
    tx: Tx,
    run: RunIdentity,
    place: MemoryPlace,
    { content, expected }: { readonly content: string; readonly expected: string | null | undefined },
  ): Promise<{ readonly now: MemoryRow; readonly replaced: MemoryRow | null }> {
    const at = [run.workspaceId, place.namespace, place.ownerId, place.key];
    const by = [content, run.agentId, run.runId];
    if (expected === undefined || expected === null) {
      const [made] = await tx.query<MemoryRow>(
        `insert into memory_entries (workspace_id, namespace, owner_id, key, content, agent_id, run_id, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, date_trunc('milliseconds', clock_timestamp()))
         on conflict do nothing returning content, updated_at`,
        [...at, ...by],
      );
      if (made !== undefined) {
        await this.assertRoom(tx, run.workspaceId, place);
        return { now: made, replaced: null };
      }
    }
    const [before] = await tx.query<MemoryRow>(
      `select content, updated_at from memory_entries where workspace_id = $1 and namespace = $2 and owner_id = $3 and key = $4
          for no key update`,
      at,
    );
    const found = before?.updated_at.toISOString() ?? null;
    if (before === undefined || (expected !== undefined && expected !== found))
      throw new OfficeError('memory_conflict', { updated_at: found });
    const [now] = await tx.query<MemoryRow>(
      `update memory_entries
          set content = $5, agent_id = $6, run_id = $7,
              updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
        where workspace_id = $1 and namespace = $2 and owner_id = $3 and key = $4 returning content, updated_at`,
      [...at, ...by],
    );
    return { now: now!, replaced: before };
  }

  /** One maker of entries of a namespace at a time, so that two cannot both be the last. */
  private async assertRoom(tx: Tx, workspaceId: string, { namespace, ownerId }: MemoryPlace): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('memory ' || $1 || $2 || $3, 0))`, [workspaceId, namespace, ownerId]);
    const [held] = await tx.query<{ entries: number }>(
      `select count(*)::int as entries from memory_entries where workspace_id = $1 and namespace = $2 and owner_id = $3`,
      [workspaceId, namespace, ownerId],
    );
    if (held!.entries > MOST_ENTRIES) throw new OfficeError('memory_full', { most: MOST_ENTRIES });
  }
}
