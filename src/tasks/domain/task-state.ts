/** What people see of a task. Where it stands in its workflow is the step. */
export const TASK_STATES = ['TODO', 'IN_PROGRESS', 'REVIEW', 'BLOCKED', 'DONE', 'CANCELLED'] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** Over: nothing runs on it and nothing waits for it. Only a person opens it again. */
export const CLOSED_STATES = ['DONE', 'CANCELLED'] as const satisfies readonly TaskState[];
export const isClosed = (state: TaskState): boolean => state === 'DONE' || state === 'CANCELLED';

/**
 * Who moves a task: a person or an agent who says its `state`, the claim of a run of its assignee, or a run that failed. What the
 * workflow moves takes any open task to the state of the step it enters (`task-move.ts`).
 */
export type TaskMover = 'person' | 'agent' | 'claim' | 'failure';

/**
 * The one table. A mover that is not in the cell may not make that move.
 * Reopened, a task is to be done again: nobody puts it straight back under review.
 */
const MOVES: Readonly<Record<TaskState, Partial<Record<TaskState, readonly TaskMover[]>>>> = {
  TODO: { IN_PROGRESS: ['person', 'claim'], REVIEW: ['person', 'failure'], BLOCKED: ['person'], DONE: ['person'], CANCELLED: ['person'] },
  IN_PROGRESS: { TODO: ['person'], REVIEW: ['person', 'failure'], BLOCKED: ['person'], DONE: ['person'], CANCELLED: ['person'] },
  REVIEW: { TODO: ['person'], IN_PROGRESS: ['person', 'claim'], BLOCKED: ['person'], DONE: ['person'], CANCELLED: ['person'] },
  BLOCKED: { TODO: ['person'], IN_PROGRESS: ['person'], REVIEW: ['person', 'failure'], DONE: ['person'], CANCELLED: ['person'] },
  DONE: { TODO: ['person'], IN_PROGRESS: ['person'] },
  CANCELLED: { TODO: ['person'], IN_PROGRESS: ['person'] },
};

/** What decides whether a task may be moved. */
export interface StateNow {
  readonly state: TaskState;
  /** It is under review because a run failed, not because anybody is to look at it. */
  readonly reviewAfterFailure: boolean;
}

/** Whether the mover may take the task there. Staying where it is is no move. */
export function mayMoveTask(now: StateNow, to: TaskState, by: TaskMover): boolean {
  // An agent moves what a person may, but for opening again what is over.
  if (by === 'agent') return !isClosed(now.state) && mayMoveTask(now, to, 'person');
  // A claim takes a task out of review only if a failed run had put it there.
  if (by === 'claim' && now.state === 'REVIEW' && !now.reviewAfterFailure) return false;
  return MOVES[now.state][to]?.includes(by) ?? false;
}

/** The states from which the mover may take a task to `to`, for the WHERE of an UPDATE. `REVIEW` still asks `review_after_failure` of a claim. */
export const taskSourcesOf = (to: TaskState, by: TaskMover): TaskState[] =>
  TASK_STATES.filter((from) => mayMoveTask({ state: from, reviewAfterFailure: true }, to, by));

/** How a state may be written by those who send one. */
export const TASK_STATE_SPELLINGS: ReadonlyMap<string, TaskState> = new Map<string, TaskState>([
  ...TASK_STATES.flatMap((state) => [state, state.toLowerCase()].map((spelling) => [spelling, state] as const)),
  ['in_review', 'REVIEW'],
]);
