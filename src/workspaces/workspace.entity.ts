import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The tenant: every other row belongs to exactly one. */
@Entity('workspaces')
@Check('workspaces_name_filled', `length(name) between 1 and 200`)
@Check('workspaces_task_prefix_shape', `task_prefix ~ '^[A-Z][A-Z0-9]{0,9}$'`)
export class WorkspaceEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('text') name!: string;
  @Column('text') readonly taskPrefix!: string;
  @Column('integer', { default: 0 }) lastTaskNumber!: number;
  @Column('timestamptz', { nullable: true }) stoppedAt!: Date | null;
  /** When it was last started again: until then its runs did not wait by their own fault. */
  @Column('timestamptz', { nullable: true }) unblockedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) archivedAt!: Date | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly createdAt!: Date;
}
