import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentEntity } from '../agents/agent.entity.js';
import { WorkflowStepEntity } from '../workflow/workflow-step.entity.js';
import { TaskEntity } from './task.entity.js';

/** What the holder of a seat decided on a task at a step. Superseded when the task comes back to the step, never deleted. */
@Entity('task_step_decisions')
@Index('task_step_decisions_one_active', ['taskId', 'stepId', 'agentId', 'userId'], { unique: true, where: `superseded_at is null` })
@Index('task_step_decisions_by_task', ['taskId', 'decidedAt', 'id'])
@Check('task_step_decisions_one_holder', `(agent_id is null) <> (user_id is null)`)
@Check('task_step_decisions_role_known', `role in ('reviewer', 'approver')`)
@Check('task_step_decisions_decision_known', `decision in ('approved', 'changes_requested')`)
@Check('task_step_decisions_decider_known', `decided_by_kind in ('user', 'agent')`)
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'task_step_decisions_task_exists' })
@ForeignKey(() => WorkflowStepEntity, ['workspaceId', 'stepId'], ['workspaceId', 'id'], { name: 'task_step_decisions_step_exists' })
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'task_step_decisions_agent_exists' })
@ForeignKey(() => UserEntity, ['userId'], ['id'], { name: 'task_step_decisions_user_exists' })
export class StepDecisionEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly taskId!: string;
  @Column('uuid') readonly stepId!: string;
  /** Whose seat it is; an admin may have decided for an absent agent. */
  @Column('uuid', { nullable: true }) readonly agentId!: string | null;
  @Column('uuid', { nullable: true }) readonly userId!: string | null;
  @Column('text') readonly role!: 'reviewer' | 'approver';
  @Column('text') readonly decision!: 'approved' | 'changes_requested';
  @Column('text', { nullable: true }) note!: string | null;
  @Column('text') readonly decidedByKind!: 'user' | 'agent';
  @Column('uuid') readonly decidedById!: string;
  @Column('uuid', { nullable: true }) readonly runId!: string | null;
  @Column('timestamptz', { default: () => 'clock_timestamp()' }) readonly decidedAt!: Date;
  @Column('timestamptz', { nullable: true }) supersededAt!: Date | null;
}
