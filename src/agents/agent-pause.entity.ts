import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { AgentEntity } from './agent.entity.js';

/** One episode of an automatic pause, with the work it took down as it was then. */
@Entity('agent_pauses')
@Unique('agent_pauses_once_per_workspace', ['workspaceId', 'id'])
@Index('agent_pauses_one_open', ['agentId'], { unique: true, where: `closed_at is null` })
@Index('agent_pauses_open_by_workspace', ['workspaceId', 'openedAt'], { where: `closed_at is null` })
@Check('agent_pauses_closed_by_known', `closed_by in ('mark_fixed', 'unpaused', 'replaced', 'archived')`)
@Check('agent_pauses_closed_whole', `(closed_at is null) = (closed_by is null)`)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'agent_pauses_agent_exists' })
export class AgentPauseEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('text') readonly reason!: string;
  @Column('integer') readonly failures!: number;
  @Column('jsonb') readonly affected!: unknown;
  @Column('timestamptz', { default: () => 'now()' }) readonly openedAt!: Date;
  @Column('timestamptz', { nullable: true }) closedAt!: Date | null;
  @Column('text', { nullable: true }) closedBy!: 'mark_fixed' | 'unpaused' | 'replaced' | 'archived' | null;
}
