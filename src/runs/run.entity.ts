import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';
import { TaskSessionEntity } from '../sessions/task-session.entity.js';
import { TaskEntity } from '../tasks/task.entity.js';

/** One wake-up of one agent, from the queue to its end. `generation` is the fencing token of whoever runs it. */
@Entity('runs')
@Unique('runs_once_per_workspace', ['workspaceId', 'id'])
@Index('runs_one_waiting_per_pair', ['taskId', 'agentId'], {
  unique: true,
  where: `task_id is not null and status in ('queued', 'scheduled_retry')`,
})
@Index('runs_one_running_per_task', ['taskId'], { unique: true, where: `task_id is not null and status = 'running'` })
@Index('runs_one_waiting_per_scope', ['agentId', 'scope'], {
  unique: true,
  where: `scope is not null and status in ('queued', 'scheduled_retry')`,
})
@Index('runs_one_running_per_scope', ['agentId', 'scope'], { unique: true, where: `scope is not null and status = 'running'` })
@Index('runs_claim_order', ['agentId', 'wakeClass', 'requestedAt', 'id'], { where: `status in ('queued', 'scheduled_retry')` })
@Index('runs_waiting_by_workspace', ['workspaceId', 'agentId'], { where: `status in ('queued', 'scheduled_retry')` })
@Index('runs_running_by_agent', ['agentId'], { where: `status = 'running'` })
@Index('runs_running_by_host', ['leaseHostId', 'leaseExpiresAt'], { where: `status = 'running'` })
@Index('runs_failed_by_agent', ['agentId', 'id'], { where: `status in ('failed', 'timed_out') and failure_kind = 'error'` })
@Index('runs_open_failures', ['workspaceId', 'agentId', 'id'], {
  where: `status in ('failed', 'timed_out') and failure_kind = 'error' and not failure_dismissed`,
})
@Index('runs_turns_of_task', ['taskId', 'startedAt', 'id'], { where: `task_id is not null and started_at is not null` })
@Index('runs_errors_of_task', ['taskId', 'finishedAt', 'id'], {
  where: `task_id is not null and status in ('failed', 'timed_out')`,
})
@Index('runs_ended', ['workspaceId', 'finishedAt', 'status', 'failureKind'], { where: `finished_at is not null` })
@Index('runs_due', ['dueAt'], { where: `status = 'scheduled_retry'` })
@Index('runs_failed_lately', ['agentId', 'finishedAt'], { where: `status in ('failed', 'timed_out') and failure_kind = 'error'` })
@Index('runs_with_bodies', ['workspaceId', 'finishedAt', 'id'], { where: `finished_at is not null and bodies_kept` })
@Index('runs_by_survivor', ['mergedInto'], { where: `merged_into is not null` })
@Index('runs_by_agent', ['agentId', 'id'])
@Index('runs_by_task', ['taskId', 'id'], { where: `task_id is not null` })
@Check('runs_status_known', `status in ('queued', 'scheduled_retry', 'running', 'completed', 'failed', 'timed_out', 'cancelled')`)
@Check('runs_task_or_scope', `(task_id is null) <> (scope is null)`)
@Check('runs_class_known', `wake_class between 0 and 3`)
@Check('runs_entitlement_known', `entitlement in ('assignee', 'seat', 'none')`)
@Check('runs_depth_range', `depth between 0 and 8`)
@Check('runs_role_known', `role in ('ceo', 'assistant', 'worker', 'specialist', 'reviewer')`)
@Check('runs_failure_kind_known', `failure_kind in ('error', 'interrupted')`)
@Check(
  'runs_running_is_leased',
  `(status = 'running') = (lease_host_id is not null and lease_boot_id is not null and lease_expires_at is not null)`,
)
@Check('runs_terminal_is_dated', `(status in ('completed', 'failed', 'timed_out', 'cancelled')) = (finished_at is not null)`)
@Check('runs_failure_is_told', `status not in ('failed', 'timed_out') or (error_message is not null and failure_kind is not null)`)
@Check('runs_cancel_is_told', `status <> 'cancelled' or cancel_reason is not null`)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'runs_agent_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'runs_task_exists' })
@ForeignKey(() => TaskSessionEntity, ['workspaceId', 'sessionId'], ['workspaceId', 'id'], { name: 'runs_session_exists' })
@ForeignKey(() => RunEntity, ['workspaceId', 'mergedInto'], ['workspaceId', 'id'], { name: 'runs_survivor_exists' })
export class RunEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  /** Of a run without a task: `approval:<id>`, `routine:<id>` or `manual`. */
  @Column('text', { nullable: true }) readonly scope!: string | null;
  @Column('uuid', { nullable: true }) sessionId!: string | null;
  @Column('text', { default: 'queued' })
  status!: 'queued' | 'scheduled_retry' | 'running' | 'completed' | 'failed' | 'timed_out' | 'cancelled';
  @Column('text') readonly reason!: string;
  @Column('text', { nullable: true }) readonly note!: string | null;
  @Column('smallint') wakeClass!: number;
  @Column('timestamptz', { default: () => 'now()' }) readonly requestedAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) dueAt!: Date;
  @Column('integer', { default: 0 }) generation!: number;
  @Column('integer', { default: 0 }) retryCount!: number;
  @Column('timestamptz', { nullable: true }) claimedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) launchedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) startedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
  @Column('uuid', { nullable: true }) leaseHostId!: string | null;
  @Column('uuid', { nullable: true }) leaseBootId!: string | null;
  @Column('timestamptz', { nullable: true }) leaseExpiresAt!: Date | null;
  @Column('timestamptz', { nullable: true }) stopRequestedAt!: Date | null;
  @Column('text', { nullable: true }) stopRequestedReason!: string | null;
  @Column('text', { nullable: true }) cancelReason!: string | null;
  @Column('uuid', { nullable: true }) mergedInto!: string | null;
  @Column('text', { nullable: true }) stopReason!: string | null;
  @Column('text', { nullable: true }) failureKind!: 'error' | 'interrupted' | null;
  /** The raw payload, verbatim (contract 7). */
  @Column('text', { nullable: true }) errorMessage!: string | null;
  @Column('text', { nullable: true }) errorSummary!: string | null;
  @Column('text', { nullable: true }) errorCode!: string | null;
  @Column('text', { nullable: true }) errorClass!: string | null;
  /** Its failure has a dismissal; kept true by the database (migration 21), never written by us. */
  @Column('boolean', { default: false }) readonly failureDismissed!: boolean;
  /** When the limit that it failed on ends, if that was told. */
  /** Its transcript has still the bodies of its tools and thoughts; they go before the rest. */
  @Column('boolean', { default: true }) bodiesKept!: boolean;
  @Column('timestamptz', { nullable: true }) retryAfter!: Date | null;
  @Column('text') readonly entitlement!: 'assignee' | 'seat' | 'none';
  @Column('jsonb', { nullable: true }) capabilities!: Record<string, unknown> | null;
  /** The agent's role, frozen with them. */
  @Column('text', { nullable: true }) role!: string | null;
  @Column('jsonb', { nullable: true }) inputSnapshot!: Record<string, unknown> | null;
  /** What its owner last saw of its process (with each renewal); of this attempt alone. */
  @Column('timestamptz', { nullable: true }) evidenceAt!: Date | null;
  @Column('timestamptz', { nullable: true }) lastContentAt!: Date | null;
  @Column('boolean', { nullable: true }) processAlive!: boolean | null;
  @Column('text', { nullable: true }) currentTool!: string | null;
  @Column('boolean', { nullable: true }) awaitsPermission!: boolean | null;
  @Column('jsonb', { nullable: true }) usage!: Record<string, unknown> | null;
  @Column('uuid', { nullable: true }) readonly causationId!: string | null;
  @Column('uuid', { nullable: true }) readonly parentRunId!: string | null;
  @Column('integer', { default: 0 }) readonly depth!: number;
}
