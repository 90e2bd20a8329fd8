import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { AgentEntity } from '../agents/agent.entity.js';
import { TaskEntity } from '../tasks/task.entity.js';
import { WorkflowStepEntity } from '../workflow/workflow-step.entity.js';

/** One agent's conversation on one task, reused by every run of the pair; without a task, of one run alone. */
@Entity('task_sessions')
@Unique('task_sessions_once_per_workspace', ['workspaceId', 'id'])
@Index('task_sessions_one_open_per_pair', ['taskId', 'agentId'], {
  unique: true,
  where: `task_id is not null and state not in ('COMPLETED', 'CANCELLED')`,
})
@Index('task_sessions_by_task', ['taskId', 'id'])
@Index('task_sessions_by_agent', ['agentId', 'id'])
@Index('task_sessions_maybe_live', ['agentId'], { where: `state in ('STARTING', 'RUNNING', 'WAITING_FOR_INPUT')` })
@Index('task_sessions_signaled', ['signaledAt', 'id'], { where: `signaled_at is not null` })
@Check('task_sessions_signal_whole', `(signal_step_id is null) = (signaled_at is null) and (signal is null) = (signaled_at is null)`)
@Check(
  'task_sessions_state_known',
  `state in ('CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'FAILED', 'COMPLETED', 'CANCELLED')`,
)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'task_sessions_agent_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_sessions_task_exists' })
@ForeignKey(() => WorkflowStepEntity, ['workspaceId', 'signalStepId'], ['workspaceId', 'id'], { name: 'task_sessions_signal_step_exists' })
export class TaskSessionEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  @Column('text', { default: 'CREATED' })
  state!: 'CREATED' | 'STARTING' | 'RUNNING' | 'IDLE' | 'WAITING_FOR_INPUT' | 'FAILED' | 'COMPLETED' | 'CANCELLED';
  @Column('text') adapter!: string;
  @Column('text', { nullable: true }) acpSessionId!: string | null;
  @Column('jsonb', { default: () => `'[]'` }) acpSessionHistory!: unknown[];
  @Column('text', { nullable: true }) errorMessage!: string | null;
  @Column('integer', { default: 0 }) turns!: number;
  @Column('timestamptz', { nullable: true }) promptedAt!: Date | null;
  @Column('boolean', { default: false }) readonly isPassthrough!: boolean;
  /** The step its agent has said is complete, until that is applied or void. */
  @Column('uuid', { nullable: true }) signalStepId!: string | null;
  @Column('timestamptz', { nullable: true }) signaledAt!: Date | null;
  /** What came with it: `{summary, handoff, blockers}`. */
  @Column('jsonb', { nullable: true }) signal!: Record<string, unknown> | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
