import { Column, Entity, ForeignKey, PrimaryColumn, Unique } from 'typeorm';
import { RepositoryEntity } from '../repositories/repository.entity.js';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** A named group of tasks. A task of a project is an Office task whatever its workflow (contract 9). */
@Entity('projects')
@Unique('projects_once_per_workspace', ['workspaceId', 'id'])
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'projects_workspace_exists' })
@ForeignKey(() => RepositoryEntity, ['workspaceId', 'repositoryId'], ['workspaceId', 'id'], { name: 'projects_repository_exists' })
export class ProjectEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  /** Where its tasks work unless they say otherwise. */
  @Column('uuid', { nullable: true }) repositoryId!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
