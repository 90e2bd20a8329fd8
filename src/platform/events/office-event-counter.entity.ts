import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** The last sequence number told in a workspace; locking this row puts commits in order. */
@Entity('office_event_counters')
@Check('office_event_counters_floor_range', `oldest_seq between 1 and last_seq + 1`)
@ForeignKey('WorkspaceEntity', ['workspaceId'], ['id'], { name: 'office_event_counters_workspace_exists' })
export class OfficeEventCounterEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  /** A bigint: text in JavaScript. */
  @Column('bigint', { default: 0 }) readonly lastSeq!: string;
  /** The first event that is still kept; one more than `lastSeq` when none is. */
  @Column('bigint', { default: 1 }) readonly oldestSeq!: string;
}
