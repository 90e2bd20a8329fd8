import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { ClaimedRun } from '../runs/claim.js';
import type { TaskState } from '../tasks/domain/task-state.js';

/** A worktree as the database knows it. */
export interface WorktreeRow {
  readonly task_id: string;
  readonly workspace_id: string;
  readonly identifier: string;
  readonly title: string;
  readonly state: TaskState;
  readonly deleted: boolean;
  readonly repository_id: string;
  readonly repository_name: string;
  readonly repository_path: string;
  readonly repository_removed: boolean;
  readonly host_id: string;
  readonly path: string;
  /** Null until it has been decided. */
  readonly branch: string | null;
  readonly base_branch: string | null;
  readonly base_commit: string | null;
  readonly made: boolean;
  readonly removing: boolean;
  readonly pushed_commit: string | null;
  readonly uncommitted: number | null;
  readonly unpushed: number | null;
  readonly checked_at: Date | null;
  readonly created_at: Date;
}

/** What a worktree is to be made of, decided and written down before anything is made. */
export interface WorktreePlan {
  readonly branch: string;
  readonly baseBranch: string | null;
  readonly baseCommit: string;
}

export interface Holdings {
  readonly uncommitted: number;
  readonly unpushed: number;
}

const SELECT = `
  select f.task_id, f.workspace_id, t.identifier, t.title, t.state, t.deleted_at is not null as deleted, f.repository_id,
         p.name as repository_name, p.path as repository_path, p.removed_at is not null as repository_removed, f.host_id, f.path,
         f.branch, f.base_branch, f.base_commit, f.made_at is not null as made, f.removing_at is not null as removing,
         f.pushed_commit, f.uncommitted, f.unpushed, f.checked_at, f.created_at
    from task_folders f join tasks t on t.id = f.task_id join repositories p on p.id = f.repository_id`;

const IS_OVER = `(t.state in ('DONE', 'CANCELLED') or t.archived_at is not null or t.deleted_at is not null)`;

/** The run, if it is still this attempt's; locked, so that it cannot end in between. */
const MINE = `mine as materialized (
  select id from runs where workspace_id = $1 and id = $2 and generation = $3 and status = 'running' for no key update)`;

/** The worktrees among `task_folders`. */
@Injectable()
export class WorktreeRepository {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  async find(db: Reading, workspaceId: string, taskId: string): Promise<WorktreeRow | null> {
    const [row] = await db.query<WorktreeRow>(`${SELECT} where f.workspace_id = $1 and f.task_id = $2 and f.repository_id is not null`, [
      workspaceId,
      taskId,
    ]);
    return row ?? null;
  }

  /** Oldest tasks first. */
  list(db: Reading, workspaceId: string, page: { after: string | null; take: number }): Promise<WorktreeRow[]> {
    return db.query<WorktreeRow>(
      `${SELECT} where f.workspace_id = $1 and f.repository_id is not null and ($2::uuid is null or f.task_id > $2)
        order by f.task_id limit $3`,
      [workspaceId, page.after, page.take],
    );
  }

  /** Before anything is made. False: the run is not ours any more. */
  async writePlan(run: ClaimedRun, plan: WorktreePlan): Promise<boolean> {
    const written = await this.unitOfWork.statement(
      `with ${MINE}
       update task_folders f set branch = $5, base_branch = $6, base_commit = $7, made_at = null, pushed_commit = null from mine
        where f.workspace_id = $1 and f.task_id = $4 returning f.task_id`,
      [run.workspaceId, run.runId, run.generation, run.taskId, plan.branch, plan.baseBranch, plan.baseCommit],
    );
    return written.length === 1;
  }

  /** It is there, and everybody's who works on the task. False: the run is not ours any more. */
  async writeMade(run: ClaimedRun): Promise<boolean> {
    return this.unitOfWork.run(run.workspaceId, async (tx) => {
      const written = await tx.query<{ branch: string }>(
        `with ${MINE}
         update task_folders f set made_at = now() from mine where f.workspace_id = $1 and f.task_id = $4 returning f.branch`,
        [run.workspaceId, run.runId, run.generation, run.taskId],
      );
      if (written.length === 0) return false;
      await tx.query(`update executors_running set branch = $3, updated_at = now() where workspace_id = $1 and task_id = $2`, [
        run.workspaceId,
        run.taskId,
        written[0]!.branch,
      ]);
      tx.emit('office.task.updated', { task_id: run.taskId!, fields: ['worktree'] });
      return true;
    });
  }

  /**
   * Nobody may begin to work in it from now on. False: a run of the task is under way, it is gone, or, with `onlyIfOver`,
   * the task has been opened again. Takes the task's lock, which a claim needs too.
   */
  async beginRemoval(tx: Tx, taskId: string, onlyIfOver: boolean): Promise<boolean> {
    await tx.query(`select from tasks where workspace_id = $1 and id = $2 for no key update`, [tx.workspaceId, taskId]);
    const begun = await tx.query(
      `update task_folders set removing_at = coalesce(removing_at, now())
        where workspace_id = $1 and task_id = $2 and repository_id is not null
          and not exists (select from runs r where r.task_id = $2 and r.status = 'running')
          and (not $3 or exists (select from tasks t where t.id = $2 and ${IS_OVER})) returning task_id`,
      [tx.workspaceId, taskId, onlyIfOver],
    );
    return begun.length === 1;
  }

  /** It stays after all: there was something in it. */
  async callOffRemoval(tx: Tx, taskId: string): Promise<void> {
    await tx.query(`update task_folders set removing_at = null where workspace_id = $1 and task_id = $2`, [tx.workspaceId, taskId]);
    tx.nudge('work');
  }

  /** It is gone. The task's next run makes another one, wherever it runs. */
  async forget(tx: Tx, row: Pick<WorktreeRow, 'task_id' | 'deleted'>): Promise<void> {
    await tx.query(`delete from executors_running where workspace_id = $1 and task_id = $2`, [tx.workspaceId, row.task_id]);
    await tx.query(`delete from task_folders where workspace_id = $1 and task_id = $2`, [tx.workspaceId, row.task_id]);
    if (!row.deleted) tx.emit('office.task.updated', { task_id: row.task_id, fields: ['worktree'] });
    tx.nudge('work');
  }

  async writePushed(tx: Tx, row: Pick<WorktreeRow, 'task_id' | 'deleted'>, commit: string): Promise<void> {
    await tx.query(`update task_folders set pushed_commit = $3 where workspace_id = $1 and task_id = $2`, [
      tx.workspaceId,
      row.task_id,
      commit,
    ]);
    if (!row.deleted) tx.emit('office.task.updated', { task_id: row.task_id, fields: ['worktree'] });
  }

  /** What was found in it; null where that could not be told. */
  async writeHoldings(row: WorktreeRow, holdings: Holdings | null): Promise<void> {
    await this.unitOfWork.statement(
      `update task_folders set checked_at = now(), uncommitted = $3, unpushed = $4 where workspace_id = $1 and task_id = $2`,
      [row.workspace_id, row.task_id, holdings?.uncommitted ?? null, holdings?.unpushed ?? null],
    );
  }

  /** Those on this host whose removal was begun by a process that is not there any more. */
  async halfRemoved(hostId: string, take: number): Promise<WorktreeRow[]> {
    return this.unitOfWork.read<WorktreeRow>(`${SELECT} where f.host_id = $1 and f.removing_at is not null order by f.task_id limit $2`, [
      hostId,
      take,
    ]);
  }

  /** Those on this host whose task is over and that have not been looked at for a while, the longest first. */
  async ofTasksThatAreOver(hostId: string, againAfterSec: number, take: number): Promise<WorktreeRow[]> {
    return this.unitOfWork.read<WorktreeRow>(
      `${SELECT}
        where f.host_id = $1 and f.repository_id is not null and f.removing_at is null
          and ${IS_OVER}
          and (f.checked_at is null or f.checked_at < now() - make_interval(secs => $2) or f.checked_at < t.updated_at)
          and not exists (select from runs r where r.task_id = f.task_id and r.status = 'running')
        order by f.checked_at nulls first limit $3`,
      [hostId, againAfterSec, take],
    );
  }
}
