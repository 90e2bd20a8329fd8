import { Check, Column, Entity, ForeignKey, PrimaryColumn, Unique } from 'typeorm';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** Somebody on the staff: a persistent identity with a role, an adapter and a record of failures. Its shown status is derived. */
@Entity('agent_instances')
@Unique('agent_instances_once_per_workspace', ['workspaceId', 'id'])
@Unique('agent_instances_handle_once', ['workspaceId', 'handle'])
@Check('agent_instances_name_filled', `length(name) between 1 and 200`)
@Check('agent_instances_handle_shape', `handle ~ '^[a-z0-9][a-z0-9_-]{0,59}$'`)
@Check('agent_instances_role_known', `role in ('ceo', 'assistant', 'worker', 'specialist', 'reviewer')`)
@Check('agent_instances_lifecycle_known', `lifecycle in ('active', 'stopped', 'pending_approval', 'archived')`)
@Check('agent_instances_pause_source_known', `pause_source in ('auto', 'person')`)
@Check('agent_instances_pause_whole', `(pause_reason is null) = (pause_source is null)`)
@Check('agent_instances_pause_has_episode', `pause_source is distinct from 'auto' or current_pause_id is not null`)
@Check('agent_instances_threshold_range', `failure_threshold between 1 and 100`)
@Check('agent_instances_sessions_range', `max_concurrent_sessions between 1 and 100`)
@Check('agent_instances_cooldown_range', `cooldown_sec between 0 and 86400`)
@Check('agent_instances_failures_counted', `consecutive_failures >= 0`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'agent_instances_workspace_exists' })
@ForeignKey(() => AgentEntity, ['workspaceId', 'reportsTo'], ['workspaceId', 'id'], { name: 'agent_instances_boss_exists' })
@ForeignKey('AgentPauseEntity', ['workspaceId', 'currentPauseId'], ['workspaceId', 'id'], { name: 'agent_instances_pause_exists' })
export class AgentEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('text') name!: string;
  @Column('text') handle!: string;
  @Column('text') role!: 'ceo' | 'assistant' | 'worker' | 'specialist' | 'reviewer';
  @Column('text') adapter!: string;
  @Column('jsonb', { default: () => `'{}'` }) adapterConfig!: Record<string, unknown>;
  @Column('jsonb', { default: () => `'{}'` }) permissions!: Record<string, unknown>;
  @Column('text', { nullable: true }) instructions!: string | null;
  @Column('uuid', { nullable: true }) reportsTo!: string | null;
  /** Null: the workspace's. */
  @Column('integer', { nullable: true }) failureThreshold!: number | null;
  @Column('integer', { default: 1 }) maxConcurrentSessions!: number;
  @Column('integer', { default: 0 }) cooldownSec!: number;
  @Column('text', { default: 'active' }) lifecycle!: 'active' | 'stopped' | 'pending_approval' | 'archived';
  @Column('text', { nullable: true }) pauseReason!: string | null;
  @Column('text', { nullable: true }) pauseSource!: 'auto' | 'person' | null;
  @Column('timestamptz', { nullable: true }) pausedAt!: Date | null;
  @Column('uuid', { nullable: true }) currentPauseId!: string | null;
  @Column('timestamptz', { nullable: true }) unblockedAt!: Date | null;
  @Column('integer', { default: 0 }) consecutiveFailures!: number;
  @Column('timestamptz', { nullable: true }) lastRunFinishedAt!: Date | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
