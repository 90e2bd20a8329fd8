import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { WorkspaceEntity } from './workspace.entity.js';

/** The role a person has in a workspace; without a row, the workspace does not exist for them. */
@Entity('workspace_members')
@Index('workspace_members_by_user', ['userId'])
@Check('workspace_members_role_known', `role in ('member', 'admin')`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'workspace_members_workspace_exists' })
@ForeignKey(() => UserEntity, ['userId'], ['id'], { name: 'workspace_members_user_exists' })
export class WorkspaceMemberEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  @PrimaryColumn('uuid') readonly userId!: string;
  @Column('text') role!: 'member' | 'admin';
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
