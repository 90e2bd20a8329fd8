import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** A machine that runs agents: its id lives in its data dir, its boot id changes with every process start. */
@Entity('hosts')
@Check('hosts_max_executions_positive', `max_executions > 0`)
@Check('hosts_drain_has_a_deadline', `draining or drain_until is null`)
export class HostEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') bootId!: string;
  @Column('text') name!: string;
  @Column('text', { array: true, default: () => `'{}'` }) adapters!: string[];
  @Column('integer') maxExecutions!: number;
  @Column('boolean', { default: false }) draining!: boolean;
  /** When the turns of a draining host are cut off. */
  @Column('timestamptz', { nullable: true }) drainUntil!: Date | null;
  @Column('timestamptz', { default: () => 'now()' }) startedAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) lastSeenAt!: Date;
  /** Since when it has been seen without a gap: until then nothing could be claimed here. */
  @Column('timestamptz', { default: () => 'now()' }) resumedAt!: Date;
}
