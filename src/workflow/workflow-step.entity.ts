import { Check, Column, Entity, ForeignKey, PrimaryColumn, Unique } from 'typeorm';
import { WorkflowEntity } from './workflow.entity.js';

/** A place where a task can stand. */
@Entity('workflow_steps')
@Unique('workflow_steps_once_per_workspace', ['workspaceId', 'id'])
@Unique('workflow_steps_in_order', ['workflowId', 'position'])
@Check('workflow_steps_kind_known', `kind in ('work', 'review', 'approval', 'done')`)
@ForeignKey(() => WorkflowEntity, ['workspaceId', 'workflowId'], ['workspaceId', 'id'], { name: 'workflow_steps_workflow_exists' })
export class WorkflowStepEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly workflowId!: string;
  @Column('integer') position!: number;
  @Column('text') name!: string;
  @Column('text') kind!: 'work' | 'review' | 'approval' | 'done';
  @Column('boolean', { default: false }) requiresSignal!: boolean;
  /** Whom a failed run on this step is told to; null: nobody. */
  @Column('jsonb', { nullable: true }) onAgentError!: { readonly target: string } | null;
}
