import type { Holder, SeatRole } from '../../workflow/domain/seat.js';

export interface SeatAtStep extends Holder {
  readonly id: string;
  /** Of its holder. */
  readonly name: string;
  readonly role: SeatRole;
  readonly decisionRequired: boolean;
}

export interface DecisionAtStep extends Holder {
  readonly isSuperseded: boolean;
}

/**
 * The seats whose decision the task waits for: those that have to decide and have no decision that still holds. What was
 * superseded when the task came back is none.
 */
export const undecided = (seats: readonly SeatAtStep[], decisions: readonly DecisionAtStep[]): SeatAtStep[] =>
  seats.filter(
    (seat) =>
      seat.decisionRequired &&
      seat.role !== 'watcher' &&
      !decisions.some(({ isSuperseded, agentId, userId }) => !isSuperseded && agentId === seat.agentId && userId === seat.userId),
  );
