import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentEntity } from '../agents/agent.entity.js';
import { TaskEntity } from '../tasks/task.entity.js';

/** Something an agent wants and only a person may grant. Decided once, by compare-and-set. */
@Entity('approvals')
@Unique('approvals_once_per_workspace', ['workspaceId', 'id'])
@Index('approvals_open', ['workspaceId', 'requestedAt', 'id'], { where: `status = 'pending'` })
@Index('approvals_of_hires', ['workspaceId', 'targetId'], { where: `type = 'hire_agent'` })
@Check('approvals_type_known', `type in ('hire_agent', 'generic')`)
@Check('approvals_status_known', `status in ('pending', 'approved', 'rejected')`)
@Check('approvals_target_known', `target_type in ('agent', 'task', 'skill', 'project')`)
@Check('approvals_target_whole', `(target_type is null) = (target_id is null)`)
@Check('approvals_hire_is_shown', `type <> 'hire_agent' or (target_type = 'agent' and shown_hash is not null)`)
@Check('approvals_decision_whole', `(status = 'pending') = (decided_at is null) and (decided_at is null) = (decided_by is null)`)
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'approvals_agent_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'approvals_task_exists' })
@ForeignKey(() => UserEntity, ['decidedBy'], ['id'], { name: 'approvals_decider_exists' })
export class ApprovalEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('text') readonly type!: 'hire_agent' | 'generic';
  @Column('text', { default: 'pending' }) status!: 'pending' | 'approved' | 'rejected';
  /** Who asks, in which run, on which task. The run may be forgotten before the approval is. */
  @Column('uuid') readonly agentId!: string;
  @Column('uuid') readonly runId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  @Column('text', { nullable: true }) readonly targetType!: 'agent' | 'task' | 'skill' | 'project' | null;
  @Column('uuid', { nullable: true }) readonly targetId!: string | null;
  @Column('text') readonly reason!: string;
  @Column('jsonb', { default: () => `'{}'` }) readonly payload!: Record<string, unknown>;
  /** Of a hire: SHA-256 of what the person is shown of the new agent. */
  @Column('bytea', { nullable: true }) readonly shownHash!: Buffer | null;
  @Column('timestamptz', { default: () => 'clock_timestamp()' }) readonly requestedAt!: Date;
  @Column('timestamptz', { nullable: true }) decidedAt!: Date | null;
  @Column('uuid', { nullable: true }) decidedBy!: string | null;
  @Column('text', { nullable: true }) decisionNote!: string | null;
}
