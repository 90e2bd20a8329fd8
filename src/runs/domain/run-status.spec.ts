import { describe, expect, it } from 'vitest';
import { isAllowed, isTerminal, pillOf, RUN_STATUSES, type RunStatus } from './run-status.js';

const ALLOWED: Record<RunStatus, RunStatus[]> = {
  queued: ['running', 'cancelled'],
  scheduled_retry: ['running', 'cancelled', 'failed'],
  running: ['completed', 'failed', 'timed_out', 'cancelled', 'scheduled_retry', 'queued'],
  completed: [],
  failed: [],
  timed_out: [],
  cancelled: [],
};
const pairs = RUN_STATUSES.flatMap((from) => RUN_STATUSES.map((to) => [from, to] as const));

describe('a run', () => {
  it.each(pairs.filter(([from, to]) => !ALLOWED[from].includes(to)))('refuses to go from %s to %s', (from, to) => {
    expect(isAllowed(from, to)).toBe(false);
  });

  it.each(pairs.filter(([from, to]) => ALLOWED[from].includes(to)))('may go from %s to %s', (from, to) => {
    expect(isAllowed(from, to)).toBe(true);
  });

  it('never leaves a terminal status', () => {
    expect(RUN_STATUSES.filter(isTerminal)).toEqual(['completed', 'failed', 'timed_out', 'cancelled']);
  });

  it.each([
    ['scheduled_retry', 'queued'],
    ['timed_out', 'failed'],
    ['running', 'running'],
    ['queued', 'queued'],
    ['failed', 'failed'],
    ['completed', 'completed'],
    ['cancelled', 'cancelled'],
  ] as const)('%s shows as %s', (status, pill) => {
    expect(pillOf(status)).toBe(pill);
  });
});
