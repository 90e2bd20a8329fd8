export const SEAT_ROLES = ['reviewer', 'approver', 'watcher'] as const;
export type SeatRole = (typeof SEAT_ROLES)[number];

/** Who sits at a step: an agent or a person, never both. */
export interface Holder {
  readonly agentId: string | null;
  readonly userId: string | null;
}

export interface SeatPlan extends Holder {
  readonly role: SeatRole;
  readonly decisionRequired: boolean;
}

/**
 * Which seats hold for a task, defined once: its own, and those of the step whose holder has none of its own there. SQL, in
 * which `seat` is a row of `workflow_step_participants`; `taskId` is the task's id as it is called there.
 */
export const seatHolds = (taskId: string): string => `(seat.task_id = ${taskId} or (seat.task_id is null and not exists (
  select from workflow_step_participants own
   where own.step_id = seat.step_id and own.task_id = ${taskId}
     and own.agent_id is not distinct from seat.agent_id and own.user_id is not distinct from seat.user_id)))`;

/** A seat whose holder may decide; a watcher only looks on. */
export const SEAT_DECIDES = `(seat.role <> 'watcher')`;

/** A seat without whose decision the task does not leave the step. */
export const SEAT_IS_NEEDED = `(seat.role <> 'watcher' and seat.decision_required)`;
