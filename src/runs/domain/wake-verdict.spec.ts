import { describe, expect, it } from 'vitest';
import { judgeWake, type WakeSituation } from './wake-verdict.js';

const aSituation = (about: Partial<WakeSituation> = {}): WakeSituation => ({
  lifecycle: 'active',
  task: { found: true, over: false },
  depth: 0,
  breakerOpen: false,
  ...about,
});

describe('judgeWake', () => {
  it.each([
    [{ lifecycle: null }, 'agent_not_found'],
    [{ lifecycle: 'archived' }, 'agent_archived'],
    [{ lifecycle: 'stopped' }, 'agent_stopped'],
    [{ lifecycle: 'pending_approval' }, 'agent_pending_approval'],
    [{ task: { found: false, over: false } }, 'task_not_found'],
    [{ task: { found: true, over: true } }, 'task_terminal'],
    [{ depth: 9 }, 'too_deep'],
    [{ breakerOpen: true }, 'breaker_open'],
    [{ breakerOpen: true, lifecycle: 'stopped' }, 'agent_stopped'],
  ] as const)('refuses %j as %s', (about, refusal) => {
    expect(judgeWake(aSituation(about))).toBe(refusal);
  });

  it.each([{}, { task: null }, { depth: 8 }])('takes %j', (about) => {
    expect(judgeWake(aSituation(about))).toBeNull();
  });
});
