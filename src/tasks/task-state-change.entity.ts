import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { TaskEntity } from './task.entity.js';

/** A task changed its state. Written by the database itself (migration 21), so that no mover can forget it. */
@Entity('task_state_changes')
@Index('task_state_changes_by_task', ['taskId', 'occurredAt', 'id'])
@Check('task_state_changes_actor_known', `actor_kind in ('user', 'agent', 'system')`)
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_state_changes_task_exists' })
export class TaskStateChangeEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly taskId!: string;
  @Column('text') readonly fromState!: string;
  @Column('text') readonly toState!: string;
  @Column('text') readonly actorKind!: 'user' | 'agent' | 'system';
  @Column('uuid', { nullable: true }) readonly actorId!: string | null;
  @Column('timestamptz', { default: () => 'clock_timestamp()' }) readonly occurredAt!: Date;
}
