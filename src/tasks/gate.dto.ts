import { LongText } from '../platform/http/bounded-text.decorator.js';
import { Flag, OneOf, Optional, OrNull, Uuid } from '../platform/http/fields.decorator.js';
import { SEAT_ROLES, type SeatRole } from '../workflow/domain/seat.js';
import { DECISIONS, type DecisionWord } from './domain/gate.js';

export const NOTE_BYTES = 16 * 1024;

/** A seat at a step of the task's workflow, of this task alone: in place of what its holder has at the step for all tasks. */
export class PutParticipantBody {
  @Uuid() step_id!: string;
  @OneOf(SEAT_ROLES) role!: SeatRole;
  @Optional() @Uuid() agent_id?: string;
  @Optional() @Uuid() user_id?: string;
  /** Without the decision the task does not leave the step. Left out: yes, except of a watcher. */
  @Optional() @Flag() decision_required?: boolean;
}

/** Whose seat of this task alone is taken away; what its holder has at the step for all tasks holds again. */
export class RemoveParticipantBody {
  @Uuid() step_id!: string;
  @Optional() @Uuid() agent_id?: string;
  @Optional() @Uuid() user_id?: string;
}

export class DecideBody {
  @OneOf(DECISIONS) decision!: DecisionWord;
  @Optional() @OrNull() @LongText({ maxBytes: NOTE_BYTES }) note?: string | null;
  /** Left out: one's own seat. Admins may decide for an agent that does not. */
  @Optional() @Uuid() seat_id?: string;
}

export class AdvanceBody {
  /** Left out: the next one where anything is to be done. */
  @Optional() @Uuid() to_step_id?: string;
}
