import { Check, Column, Entity, ForeignKey, PrimaryColumn, Unique } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';

/** The tenant: every other row belongs to exactly one. */
@Entity('workspaces')
@Unique('workspaces_agent_user_once', ['agentUserNumber'])
@Check('workspaces_name_filled', `length(name) between 1 and 200`)
@Check('workspaces_task_prefix_shape', `task_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'`)
@ForeignKey(() => UserEntity, ['stoppedBy'], ['id'], { name: 'workspaces_stopper_exists' })
export class WorkspaceEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('text') name!: string;
  @Column('text') readonly taskPrefix!: string;
  @Column('integer', { default: 0 }) lastTaskNumber!: number;
  /** Where the server is root, its agents run as `OFFICE_AGENT_UID_BASE` and so many, on every host. */
  @Column({ type: 'integer', generated: 'identity', generatedIdentity: 'ALWAYS' }) readonly agentUserNumber!: number;
  @Column('timestamptz', { nullable: true }) stoppedAt!: Date | null;
  @Column('uuid', { nullable: true }) stoppedBy!: string | null;
  /** When it was last started again: until then its runs did not wait by their own fault. */
  @Column('timestamptz', { nullable: true }) unblockedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) archivedAt!: Date | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
