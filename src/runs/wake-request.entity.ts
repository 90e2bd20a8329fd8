import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';
import { TaskEntity } from '../tasks/task.entity.js';
import { RunEntity } from './run.entity.js';

/** Somebody asked for an agent: who, why, and what became of it. Kept whether or not it led to a run. */
@Entity('wake_requests')
@Index('wake_requests_by_run', ['runId', 'id'], { where: `run_id is not null` })
@Index('wake_requests_pending', ['id'], { where: `outcome = 'pending'` })
@Index('wake_requests_refused_by_pair', ['taskId', 'agentId', 'id'], { where: `outcome = 'refused'` })
@Index('wake_requests_human', ['agentId', 'requestedAt'], { where: `wake_class = 0` })
@Check('wake_requests_actor_known', `actor_kind in ('user', 'agent', 'system')`)
@Check('wake_requests_outcome_known', `outcome in ('pending', 'queued', 'coalesced', 'deduplicated', 'refused')`)
@Check('wake_requests_refusal_is_told', `(outcome = 'refused') = (refused_reason is not null)`)
@Check('wake_requests_placed_has_run', `outcome not in ('queued', 'coalesced', 'deduplicated') or run_id is not null`)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'wake_requests_agent_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'wake_requests_task_exists' })
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'wake_requests_run_exists' })
export class WakeRequestEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  @Column('text', { nullable: true }) readonly scope!: string | null;
  @Column('text') readonly reason!: string;
  @Column('smallint') readonly wakeClass!: number;
  @Column('text') readonly actorKind!: 'user' | 'agent' | 'system';
  @Column('uuid', { nullable: true }) readonly actorId!: string | null;
  @Column('text', { nullable: true }) readonly note!: string | null;
  @Column('text', { nullable: true }) readonly idempotencyKey!: string | null;
  @Column('uuid', { nullable: true }) readonly causationId!: string | null;
  @Column('integer', { default: 0 }) readonly depth!: number;
  @Column('text') outcome!: 'pending' | 'queued' | 'coalesced' | 'deduplicated' | 'refused';
  @Column('text', { nullable: true }) refusedReason!: string | null;
  @Column('uuid', { nullable: true }) runId!: string | null;
  @Column('boolean', { default: false }) stale!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) readonly requestedAt!: Date;
}
