import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { WorkflowStepEntity } from '../workflow/workflow-step.entity.js';
import { TaskEntity } from './task.entity.js';

/** A task entered a step: the history decisions are anchored to. */
@Entity('task_step_transitions')
@Index('task_step_transitions_by_task', ['taskId', 'occurredAt'])
@Check('task_step_transitions_actor_known', `actor_kind in ('user', 'agent', 'system')`)
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_step_transitions_task_exists' })
@ForeignKey(() => WorkflowStepEntity, ['workspaceId', 'fromStepId'], ['workspaceId', 'id'], { name: 'task_step_transitions_from_exists' })
@ForeignKey(() => WorkflowStepEntity, ['workspaceId', 'toStepId'], ['workspaceId', 'id'], { name: 'task_step_transitions_to_exists' })
export class TaskStepTransitionEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly taskId!: string;
  @Column('uuid', { nullable: true }) readonly fromStepId!: string | null;
  @Column('uuid') readonly toStepId!: string;
  @Column('text') readonly actorKind!: 'user' | 'agent' | 'system';
  @Column('uuid', { nullable: true }) readonly actorId!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly occurredAt!: Date;
}
