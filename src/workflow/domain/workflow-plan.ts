import type { StepKind } from './office-workflow.js';
import type { SeatPlan } from './seat.js';

export const MOST_STEPS = 20;
export const MOST_SEATS = 20;

/** A step as somebody describes it. */
export interface StepSketch {
  /** Of a step there is already; undefined: a new one. */
  readonly id?: string | undefined;
  readonly kind: StepKind;
  /** Undefined: as they are. */
  readonly seats?: readonly SeatPlan[] | undefined;
}

export interface PlanProblem {
  readonly path: string;
  readonly problem: string;
}

/** What is wrong with the steps of a workflow, with its place in the body. Work begins somewhere and ends, if at all, at the end. */
export function problemsOf(steps: readonly StepSketch[]): PlanProblem[] {
  const problems: PlanProblem[] = [];
  steps.forEach((step, place) => {
    const path = `steps.${place}`;
    if (step.kind === 'done' && (place !== steps.length - 1 || place === 0)) {
      problems.push({ path: `${path}.kind`, problem: 'done must be the last of several steps' });
    }
    if (step.id !== undefined && steps.findIndex(({ id }) => id === step.id) !== place) {
      problems.push({ path: `${path}.id`, problem: 'must not repeat a step' });
    }
    problems.push(...seatProblems(step.kind, step.seats ?? [], `${path}.seats`));
  });
  return problems;
}

/** A seat is held by one, sits once at a step, and decides only where decisions are made. */
export function seatProblems(kind: StepKind, seats: readonly SeatPlan[], path: string): PlanProblem[] {
  return seats.flatMap((seat, place) => {
    const at = `${path}.${place}`;
    if ((seat.agentId === null) === (seat.userId === null)) return [{ path: at, problem: 'must name an agent_id or a user_id' }];
    const first = seats.findIndex(({ agentId, userId }) => agentId === seat.agentId && userId === seat.userId);
    if (first !== place) return [{ path: at, problem: 'must not give somebody two seats at one step' }];
    if (seat.decisionRequired && seat.role === 'watcher') return [{ path: `${at}.role`, problem: 'a watcher decides nothing' }];
    if (seat.decisionRequired && kind !== 'review' && kind !== 'approval') {
      return [{ path: `${at}.decision_required`, problem: 'decisions are made at a review or an approval step only' }];
    }
    return [];
  });
}
