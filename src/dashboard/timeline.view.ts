import { ApiProperty } from '@nestjs/swagger';

/** What every failed run is headed with; what exactly went wrong is in `details`. */
export const ERROR_HEADER = 'The agent stopped with an error.';

export class WhoView {
  @ApiProperty({ enum: ['user', 'agent', 'system'] }) kind!: 'user' | 'agent' | 'system';
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) id!: string | null;
  @ApiProperty({ type: String, nullable: true }) name!: string | null;
}

export class AgentNameView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
}

class EntryView {
  @ApiProperty({ format: 'uuid', description: 'Of the comment, the change or the run; unique together with `kind`.' }) id!: string;
  @ApiProperty({ format: 'date-time' }) at!: string;
}

export class CommentEntryView extends EntryView {
  @ApiProperty({ enum: ['comment'] }) kind!: 'comment';
  @ApiProperty({ type: WhoView }) author!: WhoView;
  @ApiProperty({ enum: ['user', 'agent', 'session', 'system'] }) source!: 'user' | 'agent' | 'session' | 'system';
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) run_id!: string | null;
  @ApiProperty() body!: string;
}

/** An agent was at work. */
export class TurnEntryView extends EntryView {
  @ApiProperty({ enum: ['turn'] }) kind!: 'turn';
  @ApiProperty({ format: 'uuid' }) run_id!: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) session_id!: string | null;
  @ApiProperty({ type: AgentNameView }) agent!: AgentNameView;
  @ApiProperty({ description: 'Why it was woken.' }) reason!: string;
  @ApiProperty({ description: 'Of the run, as it is now.' }) status!: string;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Its first entry in the transcript of the session; null while there is none.',
  })
  from_seq!: number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Its last one so far.' }) to_seq!: number | null;
  @ApiProperty({ type: 'integer', description: 'Tool calls.' }) tools!: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Null while it lasts.' }) duration_ms!: number | null;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Null where its agent does not say.' }) tokens!: number | null;
}

export class StatusEntryView extends EntryView {
  @ApiProperty({ enum: ['status'] }) kind!: 'status';
  @ApiProperty({ enum: ['state', 'step'] }) what!: 'state' | 'step';
  @ApiProperty({ type: String, nullable: true, description: 'Null for the step it began in.' }) from!: string | null;
  @ApiProperty() to!: string;
  @ApiProperty({ type: WhoView }) by!: WhoView;
}

/** A run failed. It stays, whatever is done about it. */
export class ErrorEntryView extends EntryView {
  @ApiProperty({ enum: ['error'] }) kind!: 'error';
  @ApiProperty({ example: ERROR_HEADER }) header!: string;
  @ApiProperty({ format: 'uuid' }) run_id!: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) session_id!: string | null;
  @ApiProperty({ type: AgentNameView }) agent!: AgentNameView;
  @ApiProperty({ description: 'The raw payload. Of a very long one the beginning; the whole is in the run.' }) details!: string;
  @ApiProperty() details_truncated!: boolean;
  @ApiProperty({ type: String, nullable: true }) error_class!: string | null;
  @ApiProperty({ type: String, nullable: true }) error_code!: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Who must act, in one line.' }) hint!: string | null;
  @ApiProperty({ description: 'The machine’s doing, not the agent’s; not counted.' }) interrupted!: boolean;
  @ApiProperty({ enum: ['resume', 'start_fresh'], isArray: true, description: 'While its session is FAILED.' })
  actions!: ('resume' | 'start_fresh')[];
}

/** Somebody decided at a review or an approval step. It stays when the task comes back there, and says so. */
export class DecisionEntryView extends EntryView {
  @ApiProperty({ enum: ['decision'] }) kind!: 'decision';
  @ApiProperty({ description: 'The step it was made at.' }) step!: string;
  @ApiProperty({ enum: ['reviewer', 'approver'] }) role!: 'reviewer' | 'approver';
  @ApiProperty({ enum: ['approved', 'changes_requested'] }) decision!: 'approved' | 'changes_requested';
  @ApiProperty({ type: String, nullable: true }) note!: string | null;
  @ApiProperty({ description: 'It holds no longer.' }) superseded!: boolean;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'In which an agent decided.' }) run_id!: string | null;
  @ApiProperty({ type: WhoView, description: 'Whose seat it is.' }) seat!: WhoView;
  @ApiProperty({ type: WhoView, description: 'Who decided: its holder, or an admin for an agent.' }) by!: WhoView;
}

export type TimelineEntryView = CommentEntryView | TurnEntryView | StatusEntryView | ErrorEntryView | DecisionEntryView;
