import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import type { Wait } from './domain/blockers.js';
import { IS_OPEN_BLOCKER } from './domain/open-blocker.js';

/** The rows of `task_blockers`. A deleted blocker is none. */
@Injectable()
export class BlockerRepository {
  /** One change of blockers at a time per workspace: two that cross could close a ring neither of them sees. Taken before any row. */
  async lockWaits(tx: Tx, workspaceId: string): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('task-blockers ' || $1, 0))`, [workspaceId]);
  }

  async of(db: Reading, workspaceId: string, taskId: string): Promise<{ id: string; open: boolean }[]> {
    return db.query(
      `select blocker.id, ${IS_OPEN_BLOCKER} as open
         from task_blockers wait join tasks blocker on blocker.id = wait.blocker_id
        where wait.workspace_id = $1 and wait.task_id = $2 and blocker.deleted_at is null`,
      [workspaceId, taskId],
    );
  }

  /** Those of the ids that are no tasks of the workspace. */
  async unknownOf(db: Reading, workspaceId: string, ids: readonly string[]): Promise<string[]> {
    const rows = await db.query<{ id: string }>(
      `select wanted.id from unnest($2::uuid[]) as wanted (id)
        where not exists (select from tasks where tasks.workspace_id = $1 and tasks.id = wanted.id and tasks.deleted_at is null)`,
      [workspaceId, ids],
    );
    return rows.map(({ id }) => id);
  }

  /** Every wait upstream of these tasks, if the task itself is among what they wait for; nothing otherwise. */
  async waitsLeadingTo(db: Reading, workspaceId: string, taskId: string, from: readonly string[]): Promise<Wait[]> {
    return db.query<Wait>(
      `with recursive upstream as (
         select task_id, blocker_id from task_blockers where workspace_id = $1 and task_id = any($3)
         union
         select wait.task_id, wait.blocker_id
           from upstream join task_blockers wait on wait.workspace_id = $1 and wait.task_id = upstream.blocker_id
       )
       select task_id as "taskId", blocker_id as "blockerId" from upstream
        where exists (select from upstream where blocker_id = $2)`,
      [workspaceId, taskId, from],
    );
  }

  async identifiers(db: Reading, workspaceId: string, ids: readonly string[]): Promise<Map<string, string>> {
    const rows = await db.query<{ id: string; identifier: string }>(
      `select id, identifier from tasks where workspace_id = $1 and id = any($2)`,
      [workspaceId, ids],
    );
    return new Map(rows.map(({ id, identifier }) => [id, identifier]));
  }

  /** Makes these the blockers of the task, and no others. */
  async set(tx: Tx, workspaceId: string, taskId: string, blockerIds: readonly string[]): Promise<void> {
    await tx.query(`delete from task_blockers where workspace_id = $1 and task_id = $2 and blocker_id <> all($3::uuid[])`, [
      workspaceId,
      taskId,
      blockerIds,
    ]);
    await tx.query(
      `insert into task_blockers (workspace_id, task_id, blocker_id) select $1, $2, id from unnest($3::uuid[]) as wanted (id)
       on conflict do nothing`,
      [workspaceId, taskId, blockerIds],
    );
  }
}
