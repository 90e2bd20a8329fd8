import { OfficeError } from '../../platform/errors/office-error.js';
import type { StepKind } from '../../workflow/domain/office-workflow.js';
import { isGate, missingApprovals, neededSeats, type Seat, type Walk, type WalkStep } from './gate.js';
import { isClosed, mayMoveTask, type StateNow, type TaskState } from './task-state.js';

export interface Standing extends StateNow {
  readonly stepId: string;
}

/**
 * What moves a task (contract 9). `state`: somebody says a state. `completed`: the step is over, by a signal, by the end of a
 * turn where none is needed, because all have approved, or by hand. `sent_to`: by hand, to a step named.
 */
export type MoveCause =
  | { readonly kind: 'state'; readonly to: TaskState; readonly by: 'person' | 'agent' }
  | { readonly kind: 'completed' }
  | { readonly kind: 'sent_to'; readonly stepId: string }
  | { readonly kind: 'changes_requested' };

/** Where a task goes. */
export interface Move {
  readonly state: TaskState;
  readonly stepId: string;
  /** Steps whose decisions on it hold no longer: it comes to them anew. */
  readonly supersedes: readonly string[];
  /** Approvers that kept it from being done; it is with them instead. */
  readonly missing: readonly Seat[];
}

const STATE_OF: Readonly<Record<StepKind, TaskState>> = { work: 'IN_PROGRESS', review: 'REVIEW', approval: 'REVIEW', done: 'DONE' };

/** The one table that moves state and step. Refuses what may not be: `illegal_transition`, `task_not_open`, `no_next_step`, `not_found`. */
export function planMove(now: Standing, walk: Walk, cause: MoveCause): Move {
  if (cause.kind === 'state') return said(now, walk, cause);
  if (isClosed(now.state)) throw new OfficeError('task_not_open', { state: now.state });
  switch (cause.kind) {
    case 'completed':
      return into(now, walk, nextStop(walk, now.stepId));
    case 'sent_to':
      return into(now, walk, another(walk, now.stepId, cause.stepId));
    case 'changes_requested':
      return enter(now, walk, earlierWork(walk, now.stepId) ?? walk.steps[0]!);
  }
}

function said(now: Standing, walk: Walk, { to, by }: MoveCause & { readonly kind: 'state' }): Move {
  if (!mayMoveTask(now, to, by)) throw new OfficeError('illegal_transition', { from: now.state, to });
  const here = stepOf(walk, now.stepId);
  switch (to) {
    case 'DONE':
      return done(now, walk);
    case 'REVIEW':
      return here.kind === 'work' ? { ...enter(now, walk, nextGate(walk, here) ?? here), state: to } : stay(now, to);
    case 'TODO':
    case 'IN_PROGRESS': {
      const back = now.state === 'DONE' ? walk.steps[0]! : here.kind === 'work' ? here : (earlierWork(walk, here.id) ?? here);
      return { ...enter(now, walk, back), state: to };
    }
    case 'BLOCKED':
    case 'CANCELLED':
      return stay(now, to);
  }
}

const into = (now: Standing, walk: Walk, step: WalkStep): Move => (step.kind === 'done' ? done(now, walk, step) : enter(now, walk, step));

/** Done, unless an approver of any step is missing: then it goes to the first of them. */
function done(now: Standing, walk: Walk, step = walk.steps.find(({ kind }) => kind === 'done')): Move {
  const missing = missingApprovals(walk);
  if (missing.length > 0) return { ...enter(now, walk, stepOf(walk, missing[0]!.stepId)), state: 'REVIEW', missing };
  return step === undefined ? stay(now, 'DONE') : enter(now, walk, step);
}

const stay = ({ stepId }: Standing, state: TaskState): Move => ({ state, stepId, supersedes: [], missing: [] });

function enter(now: Standing, walk: Walk, step: WalkStep): Move {
  const place = walk.steps.indexOf(step);
  const supersedes = step.id === now.stepId ? [] : walk.steps.slice(place).map(({ id }) => id);
  return { state: STATE_OF[step.kind], stepId: step.id, supersedes, missing: [] };
}

/** A gate that nobody has to decide at is passed at once. Behind the last gate of a workflow without an end, that one keeps it. */
function nextStop(walk: Walk, stepId: string): WalkStep {
  const ahead = stepsAfter(walk, stepId);
  const stop = ahead.find((step) => !isGate(step) || neededSeats(walk, step.id).length > 0) ?? ahead.at(-1);
  if (stop === undefined) throw new OfficeError('no_next_step');
  return stop;
}

/** Whoever says "in review" wants it looked at: at the first gate where somebody has to, or, where nobody has, at the first. */
function nextGate(walk: Walk, { id }: WalkStep): WalkStep | undefined {
  const gates = stepsAfter(walk, id).filter(isGate);
  return gates.find((gate) => neededSeats(walk, gate.id).length > 0) ?? gates[0];
}

function another(walk: Walk, from: string, to: string): WalkStep {
  const step = walk.steps.find(({ id }) => id === to.toLowerCase());
  if (step === undefined) throw new OfficeError('not_found', { what: 'step', id: to });
  if (step.id === from) throw new OfficeError('illegal_transition', { from: step.name, to: step.name });
  return step;
}

const earlierWork = (walk: Walk, stepId: string): WalkStep | undefined =>
  walk.steps
    .slice(
      0,
      walk.steps.findIndex(({ id }) => id === stepId),
    )
    .findLast(({ kind }) => kind === 'work');

const stepsAfter = ({ steps }: Walk, stepId: string): WalkStep[] => steps.slice(steps.findIndex(({ id }) => id === stepId) + 1);

const stepOf = ({ steps }: Walk, stepId: string): WalkStep => steps.find(({ id }) => id === stepId)!;
