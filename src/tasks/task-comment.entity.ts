import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { TaskEntity } from './task.entity.js';

/** Something said on a task. `session` is the source of an agent's last message; it wakes nobody. */
@Entity('task_comments')
@Index('task_comments_by_task', ['taskId', 'id'])
@Index('task_comments_in_time', ['taskId', 'createdAt', 'id'])
@Index('task_comments_by_run', ['runId'], { where: `run_id is not null` })
@Check('task_comments_author_known', `author_kind in ('user', 'agent', 'system')`)
@Check('task_comments_source_known', `source in ('user', 'agent', 'session', 'system')`)
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_comments_task_exists' })
export class TaskCommentEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly taskId!: string;
  @Column('text') readonly authorKind!: 'user' | 'agent' | 'system';
  @Column('uuid', { nullable: true }) readonly authorId!: string | null;
  @Column('text') readonly source!: 'user' | 'agent' | 'session' | 'system';
  @Column('uuid', { nullable: true }) readonly runId!: string | null;
  @Column('text') readonly body!: string;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
