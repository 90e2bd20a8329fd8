import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { HostEntity } from '../workspaces/host.entity.js';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** A git repository on one host that tasks of the workspace may work in. Removed, its row stays for the tasks that did. */
@Entity('repositories')
@Unique('repositories_once_per_workspace', ['workspaceId', 'id'])
@Index('repositories_registered_once', ['workspaceId', 'hostId', 'path'], { unique: true, where: `removed_at is null` })
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'repositories_workspace_exists' })
@ForeignKey(() => HostEntity, ['hostId'], ['id'], { name: 'repositories_host_exists' })
export class RepositoryEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly hostId!: string;
  @Column('text') readonly name!: string;
  /** Its real path: no symbolic link in it when it was registered. */
  @Column('text') readonly path!: string;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { nullable: true }) removedAt!: Date | null;
}
