import { describe, expect, it } from 'vitest';
import { THE_SYSTEM, type Actor } from '../../platform/actor.js';
import { classOf, rankOf, WAKE_REASON_NAMES, WAKE_REASONS, type WakeReason } from './wake-reason.js';

const person: Actor = { kind: 'user', id: 'u' };
const agent: Actor = { kind: 'agent', id: 'a', runId: 'r' };

/** Contract 3, the registry table. */
const EXPECTED: Record<WakeReason, [person: string, agent: string, staleWhen: string]> = {
  user_comment: ['human', 'human', 'not_assignee'],
  manual_resume_after_failure: ['human', 'human', 'never'],
  manual_start_fresh: ['human', 'human', 'never'],
  manual_run: ['human', 'human', 'never'],
  mentioned: ['human', 'event', 'never'],
  approval_resolved: ['human', 'event', 'never'],
  task_assigned: ['event', 'event', 'not_assignee'],
  task_blockers_resolved: ['event', 'event', 'not_assignee'],
  task_children_completed: ['event', 'event', 'not_assignee'],
  task_changes_requested: ['event', 'event', 'not_assignee'],
  task_ready_to_close: ['event', 'event', 'not_assignee'],
  task_review_requested: ['event', 'event', 'seat_gone'],
  agent_comment: ['event', 'event', 'never'],
  agent_spawned: ['event', 'event', 'never'],
  agent_error: ['event', 'event', 'never'],
  resumed_after_interruption: ['recovery', 'recovery', 'never'],
  routine: ['periodic', 'periodic', 'never'],
};

describe('the registry of wake reasons', () => {
  it('knows exactly the reasons of the contract', () => {
    expect(WAKE_REASON_NAMES.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });

  it.each(Object.entries(EXPECTED) as [WakeReason, [string, string, string]][])('%s', (reason, [byPerson, byAgent, staleWhen]) => {
    expect(classOf(reason, person)).toBe(byPerson);
    expect(classOf(reason, agent)).toBe(byAgent);
    expect(WAKE_REASONS[reason].staleWhen).toBe(staleWhen);
  });

  it('never lets the system pass for a person', () => {
    expect(classOf('mentioned', THE_SYSTEM)).toBe('event');
  });

  it('puts people first and routines last', () => {
    expect((['human', 'event', 'recovery', 'periodic'] as const).map(rankOf)).toEqual([0, 1, 2, 3]);
  });
});
