import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RunEntity } from '../runs/run.entity.js';
import { InterruptionEntity } from './interruption.entity.js';

/** One run of an interruption. */
@Entity('interruption_runs')
@Index('interruption_runs_by_run', ['runId'])
@ForeignKey(() => InterruptionEntity, ['workspaceId', 'interruptionId'], ['workspaceId', 'id'], {
  name: 'interruption_runs_interruption_exists',
})
@ForeignKey(() => RunEntity, ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'interruption_runs_run_exists' })
export class InterruptionRunEntity {
  @PrimaryColumn('uuid') readonly interruptionId!: string;
  @PrimaryColumn('uuid') readonly runId!: string;
  @Column('uuid') readonly workspaceId!: string;
}
