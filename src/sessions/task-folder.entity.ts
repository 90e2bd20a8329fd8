import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RepositoryEntity } from '../repositories/repository.entity.js';
import { TaskEntity } from '../tasks/task.entity.js';
import { HostEntity } from '../workspaces/host.entity.js';

/**
 * Where a task's files are: one folder on one host, used by all its sessions. With a repository it is a git worktree: `branch`,
 * `base_*` are decided before it is made, `made_at` says that it was, `removing_at` that it is going.
 */
@Entity('task_folders')
@Index('task_folders_worktrees', ['workspaceId', 'taskId'], { where: `repository_id is not null` })
@Index('task_folders_worktrees_by_host', ['hostId', 'checkedAt'], { where: `repository_id is not null` })
@Check('task_folders_made_is_known', `made_at is null or (repository_id is not null and branch is not null and base_commit is not null)`)
@ForeignKey(() => RepositoryEntity, ['workspaceId', 'repositoryId'], ['workspaceId', 'id'], { name: 'task_folders_repository_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_folders_task_exists' })
@ForeignKey(() => HostEntity, ['hostId'], ['id'], { name: 'task_folders_host_exists' })
export class TaskFolderEntity {
  @PrimaryColumn('uuid') readonly taskId!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') hostId!: string;
  @Column('text') path!: string;
  @Column('text', { nullable: true }) branch!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('uuid', { nullable: true }) readonly repositoryId!: string | null;
  /** The branch the repository stood on; null: on none. */
  @Column('text', { nullable: true }) baseBranch!: string | null;
  @Column('text', { nullable: true }) baseCommit!: string | null;
  @Column('timestamptz', { nullable: true }) madeAt!: Date | null;
  /** The last commit that a push of ours has brought to a remote. */
  @Column('text', { nullable: true }) pushedCommit!: string | null;
  @Column('timestamptz', { nullable: true }) removingAt!: Date | null;
  /** When the two counts below were taken. */
  @Column('timestamptz', { nullable: true }) checkedAt!: Date | null;
  @Column('integer', { nullable: true }) uncommitted!: number | null;
  @Column('integer', { nullable: true }) unpushed!: number | null;
}
