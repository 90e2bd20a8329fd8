import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';

/** An idempotency key of a wake, remembered for a day. */
@Entity('wake_keys')
@Index('wake_keys_by_age', ['rememberedUntil'])
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'wake_keys_agent_exists' })
export class WakeKeyEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  @PrimaryColumn('uuid') readonly agentId!: string;
  @PrimaryColumn('text') readonly key!: string;
  @Column('uuid', { nullable: true }) runId!: string | null;
  @Column('timestamptz') rememberedUntil!: Date;
}
