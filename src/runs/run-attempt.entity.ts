import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity.js';

/** One claim of a run: who ran it, what came of it, and on what evidence that was judged. */
@Entity('run_attempts')
@Check('run_attempts_outcome_known', `outcome in ('turn_ended', 'stopped', 'error', 'timed_out', 'interrupted', 'requeued', 'stale')`)
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'run_attempts_run_exists' })
export class RunAttemptEntity {
  @PrimaryColumn('uuid') readonly runId!: string;
  @PrimaryColumn('integer') readonly generation!: number;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly hostId!: string;
  @Column('uuid') readonly bootId!: string;
  @Column('uuid', { nullable: true }) executionId!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly claimedAt!: Date;
  @Column('timestamptz', { nullable: true }) launchedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) startedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
  @Column('text', { nullable: true })
  outcome!: 'turn_ended' | 'stopped' | 'error' | 'timed_out' | 'interrupted' | 'requeued' | 'stale' | null;
  @Column('text', { nullable: true }) errorPayload!: string | null;
  @Column('text', { nullable: true }) errorCode!: string | null;
  @Column('text', { nullable: true }) errorClass!: string | null;
  @Column('text', { nullable: true }) rule!: string | null;
  @Column('jsonb', { nullable: true }) evidence!: Record<string, unknown> | null;
  @Column('jsonb', { nullable: true }) usage!: Record<string, unknown> | null;
  /** What the execution said after its run had been settled without it. */
  @Column('jsonb', { nullable: true }) lateResult!: Record<string, unknown> | null;
  /** Of what it added to its session's transcript; null while that is nothing. */
  @Column('integer', { nullable: true }) firstSeq!: number | null;
  @Column('integer', { nullable: true }) lastSeq!: number | null;
  @Column('integer', { default: 0 }) tools!: number;
}
