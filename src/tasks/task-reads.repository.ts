import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { StepKind } from '../workflow/domain/office-workflow.js';
import type { TaskState } from './domain/task-state.js';

/** A task as lists read it: without its description, which can be wide. */
export interface TaskRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly number: number;
  readonly identifier: string;
  readonly title: string;
  readonly state: TaskState;
  readonly priority: number;
  readonly step: { readonly id: string; readonly name: string; readonly kind: StepKind };
  readonly assignee_agent_instance_id: string | null;
  readonly parent_id: string | null;
  readonly repository_id: string | null;
  readonly project_id: string | null;
  readonly workflow_id: string;
  readonly blocked_by: readonly { readonly id: string; readonly identifier: string; readonly state: TaskState }[];
  readonly archived: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly created_by_kind: 'user' | 'agent' | 'system';
  readonly created_by_id: string | null;
}

export interface WholeTaskRow extends TaskRow {
  readonly description: string | null;
}

/** What a list is narrowed to. Null: not by this. */
export interface TaskFilter {
  readonly state: TaskState | null;
  readonly assigneeId: string | null;
  readonly stepId: string | null;
  readonly projectId: string | null;
  readonly text: string | null;
  readonly archived: boolean;
}

// What is deleted is nobody's parent and blocks nobody. Rows are joined by id alone (the two-column foreign keys hold them
// in the workspace) and judged afterwards: as conditions of the join, `workspace_id` or `deleted_at is null` have let the
// planner, before its statistics are in, walk all tasks of the workspace once for every task of the page.
const NARROW = `
  task.id, task.workspace_id, task.number, task.identifier, task.title, task.state, task.priority,
  json_build_object('id', step.id, 'name', step.name, 'kind', step.kind) as step,
  task.assignee_agent_instance_id, case when parent.deleted_at is null then parent.id end as parent_id, task.repository_id,
  task.project_id, task.workflow_id,
  task.archived_at is not null as archived, task.created_at, task.updated_at, task.created_by_kind, task.created_by_id,
  coalesce((
    select json_agg(json_build_object('id', blocker.id, 'identifier', blocker.identifier, 'state', blocker.state) order by blocker.number)
             filter (where blocker.deleted_at is null)
      from task_blockers wait join tasks blocker on blocker.id = wait.blocker_id
     where wait.task_id = task.id), '[]') as blocked_by`;
const FROM = `
  from tasks task
  join workflow_steps step on step.id = task.step_id
  left join tasks parent on parent.id = task.parent_id`;

/** What people see of tasks. */
@Injectable()
export class TaskReads {
  async find(db: Reading, workspaceId: string, id: string): Promise<WholeTaskRow | null> {
    const [row] = await db.query<WholeTaskRow>(
      `select ${NARROW}, task.description ${FROM} where task.workspace_id = $1 and task.id = $2 and task.deleted_at is null`,
      [workspaceId, id],
    );
    return row ?? null;
  }

  /** The newest first, below the number `before`. Numbers are given in commit order, so no page can miss a task. */
  list(db: Reading, workspaceId: string, filter: TaskFilter, page: { before: number | null; take: number }): Promise<TaskRow[]> {
    return db.query<TaskRow>(
      `select ${NARROW} ${FROM}
        where task.workspace_id = $1 and task.deleted_at is null and (task.archived_at is not null) = $2
          and ($3::text is null or task.state = $3)
          and ($4::uuid is null or task.assignee_agent_instance_id = $4)
          and ($5::uuid is null or task.step_id = $5)
          and ($6::text is null or task.title ilike $6 or task.identifier ilike $6)
          and ($7::integer is null or task.number < $7)
          and ($9::uuid is null or task.project_id = $9)
        order by task.number desc limit $8`,
      [
        workspaceId,
        filter.archived,
        filter.state,
        filter.assigneeId,
        filter.stepId,
        filter.text === null ? null : `%${filter.text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`,
        page.before,
        page.take,
        filter.projectId,
      ],
    );
  }
}
