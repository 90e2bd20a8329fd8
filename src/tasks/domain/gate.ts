import type { StepKind } from '../../workflow/domain/office-workflow.js';
import type { Holder, SeatRole } from '../../workflow/domain/seat.js';

export const DECISIONS = ['approved', 'changes_requested'] as const;
export type DecisionWord = (typeof DECISIONS)[number];

export interface WalkStep {
  readonly id: string;
  readonly name: string;
  readonly kind: StepKind;
  /** The step ends when its agent says so, not when a turn does. */
  readonly requiresSignal: boolean;
}

/** A seat that holds for the task (`seatHolds`). */
export interface Seat extends Holder {
  readonly id: string;
  readonly stepId: string;
  /** Of its holder. */
  readonly name: string;
  readonly role: SeatRole;
  readonly decisionRequired: boolean;
}

/** A decision that has not been superseded. */
export interface ActiveDecision extends Holder {
  readonly stepId: string;
  readonly decision: DecisionWord;
  readonly note: string | null;
}

/** The way a task goes: its workflow's steps in order, who sits at them, and what they have decided on it. */
export interface Walk {
  readonly steps: readonly WalkStep[];
  readonly seats: readonly Seat[];
  readonly decisions: readonly ActiveDecision[];
}

/** `open`: nobody has to decide. `refused`: all who have to have decided, and one of them wants changes. */
export type GateVerdict = 'open' | 'waiting' | 'approved' | 'refused';

export const isGate = ({ kind }: { readonly kind: StepKind }): boolean => kind === 'review' || kind === 'approval';

export const seatsAt = ({ seats }: Walk, stepId: string): Seat[] => seats.filter((seat) => seat.stepId === stepId);

const isNeeded = ({ role, decisionRequired }: Seat): boolean => role !== 'watcher' && decisionRequired;

export const neededSeats = (walk: Walk, stepId: string): Seat[] => seatsAt(walk, stepId).filter(isNeeded);

export const isHeldBy = (one: Holder, other: Holder): boolean => one.agentId === other.agentId && one.userId === other.userId;

export const decisionOf = ({ decisions }: Walk, seat: Seat): ActiveDecision | undefined =>
  decisions.find((decision) => decision.stepId === seat.stepId && isHeldBy(decision, seat));

export function gateVerdict(walk: Walk, stepId: string): GateVerdict {
  const needed = neededSeats(walk, stepId);
  if (needed.length === 0) return 'open';
  const said = needed.map((seat) => decisionOf(walk, seat)?.decision);
  if (said.includes(undefined)) return 'waiting';
  return said.includes('changes_requested') ? 'refused' : 'approved';
}

/** The approvers of any step without whom the task is not done, in the order of the steps (contract 9). */
export const missingApprovals = (walk: Walk): Seat[] =>
  walk.steps.flatMap(({ id }) =>
    neededSeats(walk, id).filter((seat) => seat.role === 'approver' && decisionOf(walk, seat)?.decision !== 'approved'),
  );
