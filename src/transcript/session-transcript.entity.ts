import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { TaskSessionEntity } from '../sessions/task-session.entity.js';

/** Numbers the entries and revisions of a session, and names the attempt that writes to it. */
@Entity('session_transcripts')
@Index('session_transcripts_removed', ['removedAt'], { where: 'removed_at is not null' })
@ForeignKey(() => TaskSessionEntity, ['workspaceId', 'sessionId'], ['workspaceId', 'id'], { name: 'session_transcripts_session_exists' })
export class SessionTranscriptEntity {
  @PrimaryColumn('uuid') readonly sessionId!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid', { nullable: true }) runId!: string | null;
  @Column('integer', { nullable: true }) generation!: number | null;
  /** The number of the last batch of that attempt. */
  @Column('integer', { default: 0 }) batch!: number;
  /** Of that attempt. */
  @Column('integer', { default: 1 }) firstSeq!: number;
  @Column('integer', { default: 0 }) lastSeq!: number;
  @Column('bigint', { default: 0 }) lastRev!: string;
  /** Its task was deleted: nothing is written here any more. */
  @Column('timestamptz', { nullable: true }) removedAt!: Date | null;
}
