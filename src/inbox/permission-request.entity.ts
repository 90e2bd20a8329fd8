import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentEntity } from '../agents/agent.entity.js';
import { RunEntity } from '../runs/run.entity.js';
import { TaskEntity } from '../tasks/task.entity.js';

/** An agent waits, in the middle of a turn, for a person to allow what it wants to do (contract 12). Open until `closedAt`. */
@Entity('permission_requests')
@Unique('permission_requests_once_per_workspace', ['workspaceId', 'id'])
@Index('permission_requests_open', ['workspaceId', 'askedAt', 'id'], { where: `closed_at is null` })
@Index('permission_requests_by_run', ['runId', 'closedAt'])
@Check('permission_requests_decision_known', `decision in ('allow_once', 'allow_always', 'deny')`)
@Check('permission_requests_decision_closes', `decision is null or closed_at is not null`)
@Check('permission_requests_decider_decides', `decided_by is null or decision is not null`)
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], {
  name: 'permission_requests_run_exists',
  onDelete: 'CASCADE',
})
@ForeignKey(() => AgentEntity, ['workspaceId', 'agentId'], ['workspaceId', 'id'], { name: 'permission_requests_agent_exists' })
@ForeignKey(() => TaskEntity, ['workspaceId', 'taskId'], ['workspaceId', 'id'], { name: 'permission_requests_task_exists' })
@ForeignKey(() => UserEntity, ['decidedBy'], ['id'], { name: 'permission_requests_decider_exists' })
export class PermissionRequestEntity {
  /** The request's id within its execution, which is unique everywhere. */
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly runId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  /** The agent's own word for what it wants to do. */
  @Column('text') readonly title!: string;
  @Column('text', { nullable: true }) readonly toolKind!: string | null;
  /** What exactly, as JSON, cut to 4 KiB. */
  @Column('text', { nullable: true }) readonly input!: string | null;
  /** The same for requests for the same thing: what `allow_always` is remembered for. */
  @Column('text') readonly subject!: string;
  @Column('timestamptz', { default: () => 'now()' }) readonly askedAt!: Date;
  @Column('timestamptz') readonly expiresAt!: Date;
  /** Null while it is open, and where nobody's answer was needed any more. */
  @Column('text', { nullable: true }) readonly decision!: string | null;
  /** Null where the office answered: its time was over. */
  @Column('uuid', { nullable: true }) readonly decidedBy!: string | null;
  @Column('timestamptz', { nullable: true }) readonly closedAt!: Date | null;
}
