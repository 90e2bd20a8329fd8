import { ApiProperty } from '@nestjs/swagger';
import { SEAT_ROLES, type SeatRole } from '../workflow/domain/seat.js';

export const STALL_KINDS = ['stranded_signal', 'decision_waiting', 'quiet_run'] as const;

/** What the owner of a turn saw of it last. */
export class StallEvidenceView {
  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Null: none yet, or unknown.' }) last_content_at!:
    string | null;
  @ApiProperty({ type: Boolean, nullable: true, description: 'Null: unknown.' }) process_alive!: boolean | null;
  @ApiProperty({ type: String, nullable: true, description: 'What it is doing, in its own words.' }) current_tool!: string | null;
}

export class WaitingSeatView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: SEAT_ROLES }) role!: SeatRole;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) agent_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) user_id!: string | null;
  @ApiProperty({ description: 'Of its holder.' }) name!: string;
}

export class StallView {
  @ApiProperty({ enum: STALL_KINDS }) kind!: (typeof STALL_KINDS)[number];
  @ApiProperty({ description: 'Milliseconds: since the signal, since the task entered the step, since the last content.' }) age_ms!: number;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) task_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) session_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) agent_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) run_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) step_id!: string | null;
  @ApiProperty({ enum: ['candidate', 'waiting_reconcile'], nullable: true, description: 'Of a signal: in a turn, or between two.' })
  gate!: 'candidate' | 'waiting_reconcile' | null;
  @ApiProperty({ type: StallEvidenceView, nullable: true, description: 'Of a turn.' }) evidence!: StallEvidenceView | null;
  @ApiProperty({ type: [WaitingSeatView], description: 'Whose decision is waited for.' }) seats!: WaitingSeatView[];
}

export class StallsView {
  @ApiProperty({ type: [StallView], description: 'The longest first; at most 200 of a kind.' }) items!: StallView[];
  @ApiProperty({ type: String, nullable: true, description: 'Always null: ages change while one reads, so there are no pages.' })
  next_cursor!: null;
}
