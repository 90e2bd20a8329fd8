import { describe, expect, it } from 'vitest';
import { whySkipped, type TaskNow } from './skip.js';

const aTask = (about: Partial<TaskNow> = {}): TaskNow => ({
  state: 'REVIEW',
  archived: false,
  deleted: false,
  assigneeId: 'ada',
  deciders: [],
  ...about,
});

describe('a pair is left asleep', () => {
  it.each([
    ['the task is deleted', aTask({ deleted: true, state: 'DONE' }), 'assignee', 'task_not_found'],
    ['the task is archived', aTask({ archived: true, state: 'DONE' }), 'assignee', 'task_archived'],
    ['the task is done', aTask({ state: 'DONE' }), 'none', 'task_done'],
    ['the task is cancelled', aTask({ state: 'CANCELLED' }), 'seat', 'task_cancelled'],
    ['the assignee is somebody else now', aTask({ assigneeId: 'bob' }), 'assignee', 'not_assignee'],
    ['the seat it came for is not its any more', aTask({ deciders: ['bob'] }), 'seat', 'seat_gone'],
    ['the task is nobody’s now', aTask({ assigneeId: null }), 'assignee', 'not_assignee'],
  ] as const)('because %s', (_name, task, entitlement, why) => {
    expect(whySkipped(task, 'ada', entitlement)).toBe(why);
  });

  it.each([
    ['has no task', null, 'none'],
    ['is still the assignee', aTask(), 'assignee'],
    ['was mentioned, whoever is the assignee', aTask({ assigneeId: 'bob' }), 'none'],
    ['holds a seat, whoever is the assignee', aTask({ assigneeId: 'bob', deciders: ['bob', 'ada'] }), 'seat'],
  ] as const)('never when the agent %s', (_name, task, entitlement) => {
    expect(whySkipped(task, 'ada', entitlement)).toBeNull();
  });
});
