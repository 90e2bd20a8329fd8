import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity.js';

/** A step in the life of a run, for whoever wants to know what happened to it. */
@Entity('office_run_events')
@Check('office_run_events_level_known', `level in ('info', 'warn', 'error')`)
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'office_run_events_run_exists' })
export class RunEventEntity {
  @PrimaryColumn('uuid') readonly runId!: string;
  @PrimaryColumn('integer') readonly seq!: number;
  @Column('uuid') readonly workspaceId!: string;
  @Column('text') readonly eventType!: string;
  @Column('text', { default: 'info' }) readonly level!: 'info' | 'warn' | 'error';
  @Column('jsonb') readonly payload!: Record<string, unknown>;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
