import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** The last sequence number told in a workspace; locking this row puts commits in order. */
@Entity('office_event_counters')
@ForeignKey('WorkspaceEntity', ['workspaceId'], ['id'], { name: 'office_event_counters_workspace_exists' })
export class OfficeEventCounterEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  /** A bigint: text in JavaScript. */
  @Column('bigint', { default: 0 }) readonly lastSeq!: string;
}
