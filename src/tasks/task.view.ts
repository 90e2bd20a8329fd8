import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';
import { UsageView } from '../workspaces/usage.view.js';
import { STEP_KINDS } from '../workflow/domain/office-workflow.js';
import type { StepKind } from '../workflow/domain/office-workflow.js';
import { TASK_STATES } from './domain/task-state.js';
import type { TaskState } from './domain/task-state.js';
import type { TaskRow, WholeTaskRow } from './task-reads.repository.js';
import type { TaskSession } from './task-sessions.js';

export class StepView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: STEP_KINDS }) kind!: StepKind;
}

export class BlockerView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() identifier!: string;
  @ApiProperty({ enum: TASK_STATES }) state!: TaskState;
}

export class SessionOfTaskView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) agent_id!: string;
  @ApiProperty() state!: string;
  @ApiProperty({ description: 'Somebody is at work in it.' }) live!: boolean;
}

/** Who did something; the office itself has no id. */
export class AuthorView {
  @ApiProperty({ enum: ['user', 'agent', 'system'] }) kind!: 'user' | 'agent' | 'system';
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) id!: string | null;
}

/** A task in a list: without its description. */
export class ListedTaskView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty({ description: 'What people call it; unique in the workspace and without gaps.', example: 'OFF-7' }) identifier!: string;
  @ApiProperty() title!: string;
  @ApiProperty({ enum: TASK_STATES }) state!: TaskState;
  @ApiProperty({ type: StepView, description: 'Where it stands in its workflow.' }) step!: StepView;
  @ApiProperty({ minimum: 0, maximum: 4, description: 'Higher is more urgent.' }) priority!: number;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) assignee_agent_instance_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) parent_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The repository its work is done in; null: an empty folder.' })
  repository_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) project_id!: string | null;
  @ApiProperty({ format: 'uuid' }) workflow_id!: string;
  @ApiProperty({ type: [BlockerView], description: 'What it waits for; done, cancelled and archived tasks hold it up no longer.' })
  blocked_by!: BlockerView[];
  @ApiProperty({ type: [SessionOfTaskView], description: 'The newest 20, newest first.' }) sessions!: SessionOfTaskView[];
  @ApiProperty() archived!: boolean;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
  @ApiProperty({ type: AuthorView }) created_by!: AuthorView;
}

export class TaskView extends ListedTaskView {
  @ApiProperty({ type: String, nullable: true }) description!: string | null;
  @ApiProperty({ type: UsageView, nullable: true, description: 'Of all its runs; null where none told.' }) usage!: UsageView | null;
}

export class TaskPage extends pageOf(ListedTaskView) {}

export function viewListedTask(row: TaskRow, sessions: readonly TaskSession[] = []): ListedTaskView {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    identifier: row.identifier,
    title: row.title,
    state: row.state,
    step: { ...row.step },
    priority: row.priority,
    assignee_agent_instance_id: row.assignee_agent_instance_id,
    parent_id: row.parent_id,
    repository_id: row.repository_id,
    project_id: row.project_id,
    workflow_id: row.workflow_id,
    blocked_by: [...row.blocked_by],
    sessions: sessions.map(({ id, agentId, state, live }) => ({ id, agent_id: agentId, state, live })),
    archived: row.archived,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    created_by: { kind: row.created_by_kind, id: row.created_by_id },
  };
}

export const viewTask = (row: WholeTaskRow, sessions: readonly TaskSession[] = [], usage: UsageView | null = null): TaskView =>
  Object.assign(viewListedTask(row, sessions), { description: row.description, usage });
