import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One thing that happened in a workspace, gapless and in commit order; appended by the unit of work alone. */
@Entity('office_events')
export class OfficeEventEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  /** A bigint: text in JavaScript. */
  @PrimaryColumn('bigint') readonly seq!: string;
  @Column('text') readonly action!: string;
  @Column('jsonb') readonly payload!: Record<string, unknown>;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
