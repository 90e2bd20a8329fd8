import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { TaskEntity } from '../tasks/task.entity.js';
import { HostEntity } from '../workspaces/host.entity.js';

/** Where a task's files are: one folder on one host, used by all its sessions. */
@Entity('task_folders')
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_folders_task_exists' })
@ForeignKey(() => HostEntity, ['hostId'], ['id'], { name: 'task_folders_host_exists' })
export class TaskFolderEntity {
  @PrimaryColumn('uuid') readonly taskId!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') hostId!: string;
  @Column('text') path!: string;
  @Column('text', { nullable: true }) branch!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
