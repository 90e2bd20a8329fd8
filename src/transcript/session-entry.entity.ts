import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { TaskSessionEntity } from '../sessions/task-session.entity.js';
import { ENTRY_KINDS, type EntryKind } from './domain/entry.js';

/** One thing an agent was told, said or did. */
@Entity('session_entries')
@Check('session_entries_kind_known', `kind in (${ENTRY_KINDS.map((kind) => `'${kind}'`).join(', ')})`)
@Index('session_entries_by_rev', ['sessionId', 'rev'], { unique: true })
@Index('session_entries_by_run', ['runId', 'seq'])
@ForeignKey(() => TaskSessionEntity, ['workspaceId', 'sessionId'], ['workspaceId', 'id'], { name: 'session_entries_session_exists' })
// By name: runs stand above this room.
@ForeignKey('RunEntity', ['workspaceId', 'runId'], ['workspaceId', 'id'], { name: 'session_entries_run_exists' })
export class SessionEntryEntity {
  @PrimaryColumn('uuid') readonly sessionId!: string;
  @PrimaryColumn('integer') readonly seq!: number;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly runId!: string;
  @Column('integer') readonly generation!: number;
  @Column('integer') readonly turn!: number;
  @Column('text') readonly kind!: EntryKind;
  @Column('text', { nullable: true }) acpId!: string | null;
  @Column('text', { nullable: true }) title!: string | null;
  @Column('text', { nullable: true }) status!: string | null;
  @Column('text') body!: string;
  @Column('bigint') bytes!: string;
  @Column('boolean') truncated!: boolean;
  @Column('bigint') rev!: string;
  @Column('timestamptz', { default: () => 'clock_timestamp()' }) readonly createdAt!: Date;
  @Column('timestamptz', { default: () => 'clock_timestamp()' }) updatedAt!: Date;
}
