import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { newId } from '../platform/ids.js';
import type { TaskState } from './domain/task-state.js';

/** A task whose row this transaction holds. Its text is not read. */
export interface LockedTask {
  readonly id: string;
  readonly workspace_id: string;
  readonly identifier: string;
  readonly title: string;
  readonly state: TaskState;
  readonly review_after_failure: boolean;
  readonly priority: number;
  readonly workflow_id: string;
  readonly step_id: string;
  readonly assignee_agent_instance_id: string | null;
  readonly archived: boolean;
}

export interface NewTask {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly priority: number;
  readonly workflowId: string;
  readonly stepId: string;
  readonly projectId: string | null;
  readonly assigneeId: string | null;
  readonly parentId: string | null;
  readonly repositoryId: string | null;
}

/** Columns a change may write; what is undefined stays. */
export interface TaskColumns {
  readonly title?: string;
  readonly description?: string | null;
  readonly state?: TaskState;
  readonly priority?: number;
  readonly step_id?: string;
  readonly assignee_agent_instance_id?: string | null;
  readonly archived?: boolean;
}

// Closed on purpose: what is interpolated into the UPDATE comes from here. `$` stands for the value.
const ASSIGNMENTS: Readonly<Record<keyof TaskColumns, string>> = {
  title: 'title = $::text',
  description: 'description_changed_at = clock_timestamp(), description = $::text',
  state: 'review_after_failure = false, state = $::text',
  priority: 'priority = $::integer',
  step_id: 'step_entered_at = clock_timestamp(), step_id = $::uuid',
  assignee_agent_instance_id: 'assignee_agent_instance_id = $::uuid',
  archived: 'archived_at = case when $::boolean then clock_timestamp() end',
};

/** The columns of a `LockedTask`, for whoever locks one together with something else. */
export const LOCKED_TASK = `id, workspace_id, identifier, title, state, review_after_failure, priority, workflow_id, step_id,
  assignee_agent_instance_id, archived_at is not null as archived`;

/** Writes of `tasks` and of where they have stood. */
@Injectable()
export class TaskRepository {
  /** The task as it is now, locked until the end of the transaction. Refuses what does not exist, or no longer. */
  async lock(tx: Tx, workspaceId: string, id: string): Promise<LockedTask> {
    const [task] = await tx.prepared<LockedTask>(
      `select ${LOCKED_TASK} from tasks where workspace_id = $1 and id = $2 and deleted_at is null for no key update`,
      [workspaceId, id],
    );
    if (!task) throw new OfficeError('not_found', { what: 'task', id });
    return task;
  }

  /**
   * As `lock`, for a change that reaches further: with the tasks it will wait for, and, when it closes, with those that wait for it and
   * its parent. All at once and by id, so that two changes that reach for each other's tasks cannot wait for each other.
   */
  async lockWith(
    tx: Tx,
    workspaceId: string,
    id: string,
    reach: { readonly closes: boolean; readonly blockers: readonly string[] },
  ): Promise<LockedTask> {
    if (!reach.closes && reach.blockers.length === 0) return this.lock(tx, workspaceId, id);
    const neighbours = reach.closes ? await this.neighbours(tx, workspaceId, id) : [];
    await this.hold(tx, workspaceId, [id, ...reach.blockers, ...neighbours]);
    return this.lock(tx, workspaceId, id);
  }

  /** Nothing about these tasks changes before the end of the transaction. */
  async hold(tx: Tx, workspaceId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await tx.query(`select id from tasks where workspace_id = $1 and id = any($2::uuid[]) order by id for no key update`, [
      workspaceId,
      ids,
    ]);
  }

  /** The tasks that wait for this one, and its parent. */
  async neighbours(tx: Tx, workspaceId: string, id: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `select task_id as id from task_blockers where workspace_id = $1 and blocker_id = $2
       union select parent_id from tasks where workspace_id = $1 and id = $2 and parent_id is not null`,
      [workspaceId, id],
    );
    return rows.map((row) => row.id);
  }

  async exists(db: Reading, workspaceId: string, id: string): Promise<boolean> {
    const rows = await db.query(`select 1 from tasks where workspace_id = $1 and id = $2 and deleted_at is null`, [workspaceId, id]);
    return rows.length > 0;
  }

  /** Asked of the database, so that a text of 256 KiB does not travel to be compared. */
  async describedOtherwise(tx: Tx, task: LockedTask, description: string | null): Promise<boolean> {
    const rows = await tx.query(`select 1 from tasks where workspace_id = $1 and id = $2 and description is distinct from $3::text`, [
      task.workspace_id,
      task.id,
      description,
    ]);
    return rows.length > 0;
  }

  /**
   * The next number of the workspace. Its row stays locked to the end of the transaction, so a number that is rolled back
   * is given to the next task: no gaps.
   */
  async takeNumber(tx: Tx, workspaceId: string): Promise<{ number: number; identifier: string } | null> {
    const [taken] = await tx.query<{ number: number; identifier: string }>(
      `update workspaces set last_task_number = last_task_number + 1 where id = $1 and archived_at is null
       returning last_task_number as number, task_prefix || '-' || last_task_number as identifier`,
      [workspaceId],
    );
    return taken ?? null;
  }

  async insert(tx: Tx, workspaceId: string, task: NewTask, named: { number: number; identifier: string }, by: Actor): Promise<void> {
    await tx.query(
      `insert into tasks (workspace_id, id, number, identifier, title, description, priority, workflow_id, step_id,
                          assignee_agent_instance_id, parent_id, created_by_kind, created_by_id, repository_id, project_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
      [
        workspaceId,
        task.id,
        named.number,
        named.identifier,
        task.title,
        task.description,
        task.priority,
        task.workflowId,
        task.stepId,
        task.assigneeId,
        task.parentId,
        by.kind,
        by.id,
        task.repositoryId,
        task.projectId,
      ],
    );
  }

  /** Writes these columns of a locked task. */
  async change(tx: Tx, task: LockedTask, columns: TaskColumns): Promise<void> {
    const names = (Object.keys(ASSIGNMENTS) as (keyof TaskColumns)[]).filter((name) => columns[name] !== undefined);
    const assignments = names.map((name, index) => ASSIGNMENTS[name].replace('$', () => `$${index + 3}`));
    await tx.query(`update tasks set ${[...assignments, 'updated_at = now()'].join(', ')} where workspace_id = $1 and id = $2`, [
      task.workspace_id,
      task.id,
      ...names.map((name) => columns[name]),
    ]);
  }

  /** Whose doing the state changes of this transaction are, for the line the database writes of each (`task_state_changes`). */
  async signStateChange(tx: Tx, by: Actor): Promise<void> {
    await tx.query(`select set_config('office.actor', $1, true)`, [`${by.kind}:${by.id ?? ''}`]);
  }

  /** By compare-and-set, for those who move a task without holding a change of a person. False: it is not there any more. */
  async moveState(tx: Tx, task: LockedTask, to: TaskState, reviewAfterFailure: boolean): Promise<boolean> {
    const moved = await tx.query(
      `update tasks set state = $3, review_after_failure = $4, updated_at = now()
        where workspace_id = $1 and id = $2 and state = $5 and deleted_at is null returning id`,
      [task.workspace_id, task.id, to, reviewAfterFailure, task.state],
    );
    return moved.length === 1;
  }

  async recordStep(tx: Tx, workspaceId: string, taskId: string, step: { from: string | null; to: string }, by: Actor): Promise<void> {
    await tx.query(
      `insert into task_step_transitions (id, workspace_id, task_id, from_step_id, to_step_id, actor_kind, actor_id, occurred_at)
       values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())`,
      [newId(), workspaceId, taskId, step.from, step.to, by.kind, by.id],
    );
  }

  /**
   * What stays is a tombstone: id and identifier. That others waited for it stays too, unseen, until the reactions have
   * looked for them.
   */
  async bury(tx: Tx, task: LockedTask): Promise<void> {
    const it = [task.workspace_id, task.id];
    await tx.query(`delete from task_comments where workspace_id = $1 and task_id = $2`, it);
    await tx.query(`delete from task_blockers where workspace_id = $1 and task_id = $2`, it);
    await tx.query(
      `update tasks set title = '', description = null, deleted_at = now(), updated_at = now() where workspace_id = $1 and id = $2`,
      it,
    );
  }
}
