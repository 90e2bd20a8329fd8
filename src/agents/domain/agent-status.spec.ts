import { describe, expect, it } from 'vitest';
import { AGENT_STATUSES, LIFECYCLES, statusOf, switched } from './agent-status.js';
import type { AgentStatus, Lifecycle } from './agent-status.js';

const cases = LIFECYCLES.flatMap((lifecycle) =>
  ([null, 'auto', 'person'] as const).flatMap((pauseSource) => [0, 1].map((liveSessions) => ({ lifecycle, pauseSource, liveSessions }))),
);

/** Every claim that holds for the standing; the status is the first of them in the order of the contract. */
const holds = ({ lifecycle, pauseSource, liveSessions }: (typeof cases)[number]): Record<AgentStatus, boolean> => ({
  archived: lifecycle === 'archived',
  stopped: lifecycle === 'stopped',
  pending_approval: lifecycle === 'pending_approval',
  paused: pauseSource !== null,
  working: liveSessions > 0,
  idle: true,
});

describe('statusOf', () => {
  it.each(cases)('shows the first that holds of $lifecycle, paused by $pauseSource, $liveSessions live', (standing) => {
    expect(statusOf(standing)).toBe(AGENT_STATUSES.find((status) => holds(standing)[status]));
  });
});

describe('switched', () => {
  it.each<[Lifecycle, Lifecycle | null, Lifecycle | null]>([
    ['active', 'stopped', 'active'],
    ['stopped', 'stopped', 'active'],
    ['pending_approval', null, null],
    ['archived', null, null],
  ])('takes %s to %s by stop and to %s by start', (from, stopped, started) => {
    expect([switched(from, 'stop'), switched(from, 'start')]).toEqual([stopped, started]);
  });
});
