import { describe, expect, it } from 'vitest';
import { CLOSED_STATES, isClosed, mayMoveTask, TASK_STATES, TASK_STATE_SPELLINGS, taskSourcesOf } from './task-state.js';
import type { TaskMover, TaskState } from './task-state.js';

/** Rows: from. Columns: TODO, IN_PROGRESS, REVIEW, BLOCKED, DONE, CANCELLED. p a person, a an agent, c a claim, f a failed run. */
const TABLE: Readonly<Record<TaskState, readonly string[]>> = {
  TODO: ['', 'pac', 'paf', 'pa', 'pa', 'pa'],
  IN_PROGRESS: ['pa', '', 'paf', 'pa', 'pa', 'pa'],
  REVIEW: ['pa', 'pac', '', 'pa', 'pa', 'pa'],
  BLOCKED: ['pa', 'pa', 'paf', '', 'pa', 'pa'],
  DONE: ['p', 'p', '', '', '', ''],
  CANCELLED: ['p', 'p', '', '', '', ''],
};
const MOVERS: readonly [TaskMover, string][] = [
  ['person', 'p'],
  ['agent', 'a'],
  ['claim', 'c'],
  ['failure', 'f'],
];
const cells = TASK_STATES.flatMap((from) =>
  TASK_STATES.flatMap((to, column) => MOVERS.map(([by, letter]) => ({ from, to, by, allowed: TABLE[from][column]!.includes(letter) }))),
);

describe('a task', () => {
  it.each(cells.filter(({ allowed }) => !allowed))('refuses to go from $from to $to by a $by', ({ from, to, by }) => {
    expect(mayMoveTask({ state: from, reviewAfterFailure: true }, to, by)).toBe(false);
  });

  it.each(cells.filter(({ allowed }) => allowed))('may go from $from to $to by a $by', ({ from, to, by }) => {
    expect(mayMoveTask({ state: from, reviewAfterFailure: true }, to, by)).toBe(true);
  });

  it('refuses to be claimed out of a review that somebody asked for', () => {
    expect(mayMoveTask({ state: 'REVIEW', reviewAfterFailure: false }, 'IN_PROGRESS', 'claim')).toBe(false);
  });

  it.each(cells)('lists $from as a source of $to by a $by: $allowed', ({ from, to, by, allowed }) => {
    expect(taskSourcesOf(to, by).includes(from)).toBe(allowed);
  });

  it('is closed when done or cancelled', () => {
    expect(TASK_STATES.filter(isClosed)).toEqual(CLOSED_STATES);
  });
});

describe('the spelling of a state', () => {
  it.each([
    ['TODO', 'TODO'],
    ['todo', 'TODO'],
    ['in_progress', 'IN_PROGRESS'],
    ['IN_PROGRESS', 'IN_PROGRESS'],
    ['in_review', 'REVIEW'],
    ['review', 'REVIEW'],
    ['blocked', 'BLOCKED'],
    ['done', 'DONE'],
    ['cancelled', 'CANCELLED'],
  ])('%s is %s', (spelling, state) => {
    expect(TASK_STATE_SPELLINGS.get(spelling)).toBe(state);
  });

  it.each(['Done', 'canceled', 'IN_REVIEW', 'in progress', 'constructor', ''])('%j is none', (spelling) => {
    expect(TASK_STATE_SPELLINGS.get(spelling)).toBeUndefined();
  });
});
