import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** The way work goes through a workspace; each workspace has one Office default. */
@Entity('workflows')
@Unique('workflows_once_per_workspace', ['workspaceId', 'id'])
@Index('workflows_one_default', ['workspaceId'], { unique: true, where: `is_office_default` })
@Check('workflows_style_known', `style in ('office', 'kanban')`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'workflows_workspace_exists' })
export class WorkflowEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('text') name!: string;
  @Column('text') readonly style!: 'office' | 'kanban';
  @Column('boolean', { default: false }) isOfficeDefault!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
