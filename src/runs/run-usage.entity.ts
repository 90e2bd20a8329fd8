import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity.js';

/** What one attempt used, where its agent told. A trigger on `run_attempts` writes it; it goes with its run. */
@Entity('run_usage')
@Index('run_usage_by_agent', ['agentId'])
@Index('run_usage_by_task', ['taskId'], { where: `task_id is not null` })
@Index('run_usage_by_session', ['sessionId'], { where: `session_id is not null` })
@Index('run_usage_by_workspace', ['workspaceId', 'usedAt'])
@Check('run_usage_cost_has_currency', `(cost is null) = (currency is null)`)
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'run_usage_run_exists', onDelete: 'CASCADE' })
export class RunUsageEntity {
  @PrimaryColumn('uuid') readonly runId!: string;
  @PrimaryColumn('integer') readonly generation!: number;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly agentId!: string;
  @Column('uuid', { nullable: true }) readonly taskId!: string | null;
  @Column('uuid', { nullable: true }) readonly sessionId!: string | null;
  @Column('timestamptz') readonly usedAt!: Date;
  @Column('bigint') readonly inputTokens!: string;
  @Column('bigint') readonly outputTokens!: string;
  @Column('bigint') readonly totalTokens!: string;
  @Column('numeric', { nullable: true }) readonly cost!: string | null;
  @Column('text', { nullable: true }) readonly currency!: string | null;
}
