import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { TaskEntity } from '../tasks/task.entity.js';
import { HostEntity } from '../workspaces/host.entity.js';
import { TaskSessionEntity } from './task-session.entity.js';

/** Ties a session to its folder; survives failures, so that a resume returns to the same place. */
@Entity('executors_running')
@ForeignKey(() => TaskSessionEntity, ['workspaceId', 'sessionId'], ['workspaceId', 'id'], { name: 'executors_running_session_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'executors_running_task_exists' })
@ForeignKey(() => HostEntity, ['hostId'], ['id'], { name: 'executors_running_host_exists' })
export class ExecutorRunningEntity {
  @PrimaryColumn('uuid') readonly sessionId!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  @Column('uuid') hostId!: string;
  @Column('text') path!: string;
  @Column('text', { nullable: true }) branch!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
