import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';
import { RepositoryEntity } from '../repositories/repository.entity.js';
import { ProjectEntity } from '../workflow/project.entity.js';
import { WorkflowStepEntity } from '../workflow/workflow-step.entity.js';
import { WorkflowEntity } from '../workflow/workflow.entity.js';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** A unit of work. Its state is what people see, its step where it stands; deleted, it stays as an empty tombstone. */
@Entity('tasks')
@Unique('tasks_once_per_workspace', ['workspaceId', 'id'])
@Unique('tasks_number_once', ['workspaceId', 'number'])
@Index('tasks_by_assignee', ['assigneeAgentInstanceId', 'id'])
@Index('tasks_by_parent', ['parentId'], { where: `parent_id is not null` })
@Index('tasks_by_step', ['stepId'])
@Index('tasks_waiting_at_gate', ['stepEnteredAt', 'id'], {
  where: `at_gate and archived_at is null and deleted_at is null and state not in ('DONE', 'CANCELLED')`,
})
@Index('tasks_by_project', ['projectId'], { where: `project_id is not null` })
@Check('tasks_state_known', `state in ('TODO', 'IN_PROGRESS', 'REVIEW', 'BLOCKED', 'DONE', 'CANCELLED')`)
@Check('tasks_priority_range', `priority between 0 and 4`)
@Check('tasks_created_by_known', `created_by_kind in ('user', 'agent', 'system')`)
@Check('tasks_tombstone_is_empty', `deleted_at is null or (title = '' and description is null)`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'tasks_workspace_exists' })
@ForeignKey(() => AgentEntity, ['workspaceId', 'assigneeAgentInstanceId'], ['workspaceId', 'id'], { name: 'tasks_assignee_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'parentId'], ['workspaceId', 'id'], { name: 'tasks_parent_exists' })
@ForeignKey(() => WorkflowEntity, ['workspaceId', 'workflowId'], ['workspaceId', 'id'], { name: 'tasks_workflow_exists' })
@ForeignKey(() => WorkflowStepEntity, ['workspaceId', 'stepId'], ['workspaceId', 'id'], { name: 'tasks_step_exists' })
@ForeignKey(() => ProjectEntity, ['workspaceId', 'projectId'], ['workspaceId', 'id'], { name: 'tasks_project_exists' })
@ForeignKey(() => RepositoryEntity, ['workspaceId', 'repositoryId'], ['workspaceId', 'id'], { name: 'tasks_repository_exists' })
export class TaskEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('integer') readonly number!: number;
  @Column('text') readonly identifier!: string;
  @Column('text') title!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text', { default: 'TODO' }) state!: 'TODO' | 'IN_PROGRESS' | 'REVIEW' | 'BLOCKED' | 'DONE' | 'CANCELLED';
  @Column('integer', { default: 0 }) priority!: number;
  @Column('uuid') workflowId!: string;
  @Column('uuid') stepId!: string;
  @Column('uuid', { nullable: true }) projectId!: string | null;
  /** Where its work is done, from its making on. */
  @Column('uuid', { nullable: true }) readonly repositoryId!: string | null;
  /** Its step is a review or an approval; kept true by the database (migration 130), never written by us. */
  @Column('boolean', { default: false }) readonly atGate!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) stepEnteredAt!: Date;
  @Column('uuid', { nullable: true }) assigneeAgentInstanceId!: string | null;
  @Column('uuid', { nullable: true }) parentId!: string | null;
  @Column('boolean', { default: false }) reviewAfterFailure!: boolean;
  @Column('text') readonly createdByKind!: 'user' | 'agent' | 'system';
  @Column('uuid', { nullable: true }) readonly createdById!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) descriptionChangedAt!: Date;
  @Column('timestamptz', { nullable: true }) archivedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) deletedAt!: Date | null;
}
