import { ApiProperty } from '@nestjs/swagger';
import { cutBytes } from '../platform/text/storable.js';
import { ENTRY_KINDS, type EntryKind } from './domain/entry.js';

/** In lists, and over the socket. */
export const SHOWN_BYTES = 4 * 1024;

/** One thing an agent was told, said or did, as it is now. */
export class SessionEntryView {
  @ApiProperty({ format: 'uuid' }) session_id!: string;
  @ApiProperty({ type: 'integer', description: 'Its place in the session, from 1.' }) seq!: number;
  @ApiProperty({ type: 'integer', description: 'Of its last change; grows within the session.' }) rev!: number;
  @ApiProperty({ format: 'uuid' }) run_id!: string;
  @ApiProperty({ type: 'integer', description: 'Which attempt at the run.' }) generation!: number;
  @ApiProperty({ type: 'integer', description: 'Of the session, from 1.' }) turn!: number;
  @ApiProperty({ enum: ENTRY_KINDS }) kind!: EntryKind;
  @ApiProperty({ type: String, nullable: true, description: 'What the agent calls it: its tool call, its message.' }) acp_id!:
    string | null;
  @ApiProperty({ type: String, nullable: true }) title!: string | null;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Of a tool as its agent says; of a permission pending, allow_once, allow_always or deny.',
  })
  status!: string | null;
  @ApiProperty({ description: 'Secrets are masked. In lists at most 4 KiB of it.' }) body!: string;
  @ApiProperty({ description: 'There is more of the body; ask for the entry itself.' }) body_cut!: boolean;
  @ApiProperty({ type: 'integer', description: 'Full length of what was said, in bytes.' }) bytes!: number;
  @ApiProperty({ description: 'Not all that was said is kept: over 256 KiB, over what a run may keep, or too old.' }) truncated!: boolean;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}

export class SessionEntriesView {
  @ApiProperty({ type: [SessionEntryView] }) items!: SessionEntryView[];
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Null when there is no more; else the `before_seq`, or `after_rev`, to go on with.',
  })
  next_cursor!: string | null;
  @ApiProperty({ type: 'integer', description: 'Ask for what changes from here on with it as `after_rev`.' }) last_rev!: number;
}

/** A row of the reads: whole, or with the beginning of its body. */
export interface EntryRow extends Omit<SessionEntryView, 'rev' | 'bytes' | 'body_cut'> {
  readonly rev: string;
  readonly bytes: string;
  /** How long the body is that is kept. */
  readonly kept: number;
}

export const viewWhole = ({ kept: _kept, rev, bytes, ...row }: EntryRow): SessionEntryView => ({
  ...row,
  rev: Number(rev),
  bytes: Number(bytes),
  body_cut: false,
});

export const viewShort = (row: EntryRow): SessionEntryView =>
  Object.assign(viewWhole(row), { body: cutBytes(row.body, SHOWN_BYTES), body_cut: row.kept > SHOWN_BYTES });
