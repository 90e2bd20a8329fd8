import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentEntity } from '../agents/agent.entity.js';
import { RunEntity } from '../runs/run.entity.js';

/** A provider has said until when it takes no more work on a credential; runs behind it wait (contract 6, `wait_for_reset`). */
@Entity('provider_holds')
@Unique('provider_holds_once_per_workspace', ['workspaceId', 'id'])
@Index('provider_holds_one_open', ['workspaceId', 'adapter', 'credential'], { unique: true, where: `ended_at is null` })
@Index('provider_holds_by_provider', ['workspaceId', 'adapter', 'credential', 'endedAt'])
@Index('provider_holds_by_run', ['runId'])
@Index('provider_holds_by_any_first_run', ['firstRunId'], { where: `first_run_id is not null` })
@Index('provider_holds_by_first_run', ['firstRunId'], { where: `ended_at is null` })
@Check('provider_holds_ended_by_whole', `ended_by is null or ended_at is not null`)
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'provider_holds_run_exists' })
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'provider_holds_agent_exists' })
@ForeignKey(() => RunEntity, ['workspaceId', 'firstRunId'], ['workspaceId', 'id'], { name: 'provider_holds_first_run_exists' })
@ForeignKey(() => UserEntity, ['endedBy'], ['id'], { name: 'provider_holds_ender_exists' })
export class ProviderHoldEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('text') readonly adapter!: string;
  /** The fingerprint `office_credential` makes of a configuration. */
  @Column('text') readonly credential!: string;
  /** One line of what the provider said. */
  @Column('text') summary!: string;
  /** The run whose failure opened it, or last prolonged it; and its agent. */
  @Column('uuid') runId!: string;
  @Column('uuid') agentId!: string;
  @Column('timestamptz') resetAt!: Date;
  @Column('timestamptz') heldUntil!: Date;
  /** The run that went first when the time was over. While it runs, the others still wait. */
  @Column('uuid', { nullable: true }) firstRunId!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly openedAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
  /** The person who lifted it; null: it ended by itself. */
  @Column('uuid', { nullable: true }) endedBy!: string | null;
}
