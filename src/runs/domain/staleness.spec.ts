import { describe, expect, it } from 'vitest';
import { judgeStaleness, type TaskAtClaim } from './staleness.js';
import type { WakeReason } from './wake-reason.js';

const ME = 'agent-1';
const aTask = (about: Partial<TaskAtClaim> = {}): TaskAtClaim => ({
  state: 'TODO',
  archived: false,
  deleted: false,
  assigneeId: ME,
  ...about,
});
const wakes = (...reasons: WakeReason[]) => reasons.map((reason) => ({ id: reason, reason }));

describe('judgeStaleness', () => {
  it.each([
    ['a deleted task', aTask({ deleted: true }), 'task_not_found'],
    ['a deleted and archived task', aTask({ deleted: true, archived: true }), 'task_not_found'],
    ['an archived task', aTask({ archived: true }), 'task_terminal'],
    ['a done task', aTask({ state: 'DONE' }), 'task_terminal'],
    ['a cancelled task', aTask({ state: 'CANCELLED' }), 'task_terminal'],
  ] as const)('cancels a run of %s, whatever woke it', (_name, task, reason) => {
    expect(judgeStaleness(task, ME, true, wakes('manual_run', 'task_assigned')).cancel).toBe(reason);
  });

  it.each(['TODO', 'IN_PROGRESS', 'REVIEW', 'BLOCKED'])('keeps a run of a task in %s', (state) => {
    expect(judgeStaleness(aTask({ state }), ME, false, wakes('task_assigned'))).toEqual({ cancel: null, staleWakeIds: [] });
  });

  it('cancels when somebody else is the assignee and every wake was for the assignee', () => {
    const verdict = judgeStaleness(aTask({ assigneeId: 'agent-2' }), ME, false, wakes('task_assigned', 'user_comment'));
    expect(verdict).toEqual({ cancel: 'assignee_changed', staleWakeIds: ['task_assigned', 'user_comment'] });
  });

  it('keeps the run and leaves the stale wakes out when one wake still stands', () => {
    const verdict = judgeStaleness(aTask({ assigneeId: 'agent-2' }), ME, false, wakes('task_assigned', 'mentioned'));
    expect(verdict).toEqual({ cancel: null, staleWakeIds: ['task_assigned'] });
  });

  it('cancels a review whose seat is gone, and not one whose seat stands', () => {
    expect(judgeStaleness(aTask(), ME, false, wakes('task_review_requested')).cancel).toBe('participant_changed');
    expect(judgeStaleness(aTask(), ME, true, wakes('task_review_requested')).cancel).toBeNull();
  });

  it('names the assignment when both an assignment and a seat are gone', () => {
    const verdict = judgeStaleness(aTask({ assigneeId: null }), ME, false, wakes('task_review_requested', 'task_assigned'));
    expect(verdict.cancel).toBe('assignee_changed');
  });

  it('never cancels a run without a task', () => {
    expect(judgeStaleness(null, ME, false, wakes('task_assigned'))).toEqual({ cancel: null, staleWakeIds: [] });
  });
});
