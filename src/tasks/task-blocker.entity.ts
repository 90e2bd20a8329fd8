import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { TaskEntity } from './task.entity.js';

/** One task waits for another. */
@Entity('task_blockers')
@Index('task_blockers_by_blocker', ['blockerId'])
@Check('task_blockers_not_itself', `task_id <> blocker_id`)
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_blockers_task_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'blockerId'], ['workspaceId', 'id'], { name: 'task_blockers_blocker_exists' })
export class TaskBlockerEntity {
  @Column('uuid') readonly workspaceId!: string;
  @PrimaryColumn('uuid') readonly taskId!: string;
  @PrimaryColumn('uuid') readonly blockerId!: string;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
