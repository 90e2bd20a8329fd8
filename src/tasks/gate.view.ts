import { ApiProperty } from '@nestjs/swagger';
import { SEAT_ROLES, type SeatRole } from '../workflow/domain/seat.js';
import { DECISIONS, decisionOf, type DecisionWord, type Seat, type Walk } from './domain/gate.js';
import { TASK_STATES, type TaskState } from './domain/task-state.js';
import { StepView } from './task.view.js';

export class ParticipantView {
  @ApiProperty({ format: 'uuid', description: 'The seat.' }) id!: string;
  @ApiProperty({ format: 'uuid' }) step_id!: string;
  @ApiProperty({ enum: SEAT_ROLES }) role!: SeatRole;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) agent_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) user_id!: string | null;
  @ApiProperty({ description: 'Of its holder.' }) name!: string;
  @ApiProperty() decision_required!: boolean;
  @ApiProperty({ enum: DECISIONS, nullable: true, description: 'What its holder has decided, as far as that still holds.' })
  decision!: DecisionWord | null;
}

export class ParticipantsView {
  @ApiProperty({ type: [ParticipantView], description: 'Of every step of its workflow, in order.' }) items!: ParticipantView[];
  @ApiProperty({ type: String, nullable: true, description: 'Always null: the seats of a task are all here.' }) next_cursor!: null;
}

/** Where a task stands after something was done about its step. */
export class StandingView {
  @ApiProperty({ format: 'uuid' }) task_id!: string;
  @ApiProperty({ enum: TASK_STATES }) state!: TaskState;
  @ApiProperty({ type: StepView }) step!: StepView;
}

export class DecisionView extends StandingView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid', description: 'The step it was made at.' }) step_id!: string;
  @ApiProperty({ format: 'uuid' }) seat_id!: string;
  @ApiProperty({ enum: DECISIONS }) decision!: DecisionWord;
  @ApiProperty({ type: String, nullable: true }) note!: string | null;
  @ApiProperty({ format: 'date-time' }) decided_at!: string;
}

export const viewParticipants = (walk: Walk): ParticipantsView => ({
  items: walk.steps.flatMap(({ id }) => walk.seats.filter(({ stepId }) => stepId === id).map((seat) => viewParticipant(walk, seat))),
  next_cursor: null,
});

const viewParticipant = (walk: Walk, seat: Seat): ParticipantView => ({
  id: seat.id,
  step_id: seat.stepId,
  role: seat.role,
  agent_id: seat.agentId,
  user_id: seat.userId,
  name: seat.name,
  decision_required: seat.decisionRequired,
  decision: decisionOf(walk, seat)?.decision ?? null,
});
