import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentEntity } from '../agents/agent.entity.js';

/** What an admin has allowed an agent for good: exactly this, asked again, is not asked. */
@Entity('permission_grants')
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'permission_grants_agent_exists' })
@ForeignKey(() => UserEntity, ['grantedBy'], ['id'], { name: 'permission_grants_granter_exists' })
export class PermissionGrantEntity {
  @Column('uuid') readonly workspaceId!: string;
  @PrimaryColumn('uuid') readonly agentId!: string;
  @PrimaryColumn('text') readonly subject!: string;
  @Column('text') readonly title!: string;
  @Column('uuid') readonly grantedBy!: string;
  @Column('timestamptz', { default: () => 'now()' }) readonly grantedAt!: Date;
}
