import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';
import { RunEntity } from '../runs/run.entity.js';

/** An agent was refused something for want of a capability; open until a person grants it or leaves it so. */
@Entity('missing_capabilities')
@Unique('missing_capabilities_once_per_workspace', ['workspaceId', 'id'])
@Index('missing_capabilities_one_open', ['agentId', 'capability'], { unique: true, where: `closed_at is null` })
@Index('missing_capabilities_of_agent', ['agentId', 'capability', 'closedAt'])
@Index('missing_capabilities_open', ['workspaceId', 'deniedAt', 'id'], { where: `closed_at is null` })
@Index('missing_capabilities_by_run', ['runId'])
@Check('missing_capabilities_closed_one_way', `(closed_at is null) = (granted is null)`)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'missing_capabilities_agent_exists' })
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'missing_capabilities_run_exists' })
export class MissingCapabilityEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('text') readonly capability!: string;
  /** What was refused first, and in which run. */
  @Column('text') readonly action!: string;
  @Column('uuid') readonly runId!: string;
  @Column('timestamptz', { default: () => 'now()' }) readonly deniedAt!: Date;
  @Column('timestamptz', { nullable: true }) readonly closedAt!: Date | null;
  /** Null while it is open. False: somebody left it so, or the agent was archived. */
  @Column('boolean', { nullable: true }) readonly granted!: boolean | null;
}
