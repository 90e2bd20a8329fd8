import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentEntity } from '../agents/agent.entity.js';
import { WorkflowStepEntity } from '../workflow/workflow-step.entity.js';
import { TaskEntity } from './task.entity.js';

/** A seat: an agent or a person at a step, of every task that comes there or, with a task, of that one, which wins. */
@Entity('workflow_step_participants')
@Unique('workflow_step_participants_once_per_workspace', ['workspaceId', 'id'])
@Index('workflow_step_participants_once', ['stepId', 'taskId', 'agentId', 'userId'], { unique: true })
@Index('workflow_step_participants_by_task', ['taskId'], { where: `task_id is not null` })
@Check('workflow_step_participants_one_holder', `(agent_id is null) <> (user_id is null)`)
@Check('workflow_step_participants_role_known', `role in ('reviewer', 'approver', 'watcher')`)
@Check('workflow_step_participants_watchers_decide_nothing', `role <> 'watcher' or not decision_required`)
@ForeignKey(() => WorkflowStepEntity, ['workspaceId', 'stepId'], ['workspaceId', 'id'], { name: 'workflow_step_participants_step_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'workflow_step_participants_task_exists' })
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'workflow_step_participants_agent_exists' })
@ForeignKey(() => UserEntity, ['userId'], ['id'], { name: 'workflow_step_participants_user_exists' })
export class StepParticipantEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly stepId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  @Column('uuid', { nullable: true }) readonly agentId!: string | null;
  @Column('uuid', { nullable: true }) readonly userId!: string | null;
  @Column('text') role!: 'reviewer' | 'approver' | 'watcher';
  @Column('boolean') decisionRequired!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
