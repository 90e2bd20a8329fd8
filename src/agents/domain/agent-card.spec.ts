import { describe, expect, it } from 'vitest';
import { ago, pickDot, pickSubtitle } from './agent-card.js';
import type { CardFacts, CardRun } from './agent-card.js';

const aRun = (about: Partial<CardRun> = {}): CardRun => ({ status: 'completed', failureKind: null, endedSecondsAgo: 120, ...about });
const aCard = (about: Partial<CardFacts> = {}): CardFacts => ({
  lifecycle: 'active',
  pauseSource: null,
  consecutiveFailures: 0,
  liveSessions: 0,
  lastRun: null,
  ...about,
});
const failed = aRun({ status: 'failed', failureKind: 'error' });

describe('the card of an agent', () => {
  it.each([
    ['never ran', aCard(), 'Never run', 'grey'],
    ['waits for its first run', aCard({ lastRun: aRun({ status: 'queued', endedSecondsAgo: null }) }), 'Waiting to run', 'grey'],
    ['works', aCard({ liveSessions: 1, lastRun: aRun({ status: 'running', endedSecondsAgo: null }) }), 'Working', 'green'],
    ['works after a failure', aCard({ liveSessions: 2, lastRun: failed }), 'Working on 2 sessions', 'green'],
    ['finished', aCard({ lastRun: aRun() }), 'Last run finished 2 minutes ago', 'grey'],
    ['was cancelled, which is no success', aCard({ lastRun: aRun({ status: 'cancelled' }) }), 'Last run cancelled 2 minutes ago', 'grey'],
    ['failed', aCard({ lastRun: failed }), 'Last run failed 2 minutes ago', 'red'],
    ['ran too long', aCard({ lastRun: aRun({ status: 'timed_out', failureKind: 'error' }) }), 'Last run failed 2 minutes ago', 'red'],
    [
      'was interrupted, which is no failure',
      aCard({ lastRun: aRun({ status: 'failed', failureKind: 'interrupted' }) }),
      'Last run interrupted 2 minutes ago',
      'grey',
    ],
    [
      'is paused by itself',
      aCard({ pauseSource: 'auto', consecutiveFailures: 3, lastRun: failed }),
      'Paused - 3 consecutive failures',
      'red',
    ],
    [
      'is paused by itself and still works',
      aCard({ pauseSource: 'auto', consecutiveFailures: 3, liveSessions: 1 }),
      'Paused - 3 consecutive failures',
      'red',
    ],
    ['is paused by a person', aCard({ pauseSource: 'person', consecutiveFailures: 3, lastRun: failed }), 'Paused by a person', 'grey'],
    ['is stopped', aCard({ lifecycle: 'stopped', pauseSource: 'auto', lastRun: failed }), 'Stopped', 'grey'],
    ['is new', aCard({ lifecycle: 'pending_approval' }), 'Waiting for approval', 'grey'],
    ['is gone', aCard({ lifecycle: 'archived', lastRun: failed }), 'Archived', 'grey'],
  ] as const)('that %s', (_name, card, subtitle, dot) => {
    expect([pickSubtitle(card), pickDot(card)]).toEqual([subtitle, dot]);
  });
});

describe('ago', () => {
  it.each([
    [-5, 'just now'],
    [59, 'just now'],
    [60, '1 minute ago'],
    [3_599, '59 minutes ago'],
    [3_600, '1 hour ago'],
    [86_399, '23 hours ago'],
    [86_400, '1 day ago'],
    [900_000, '10 days ago'],
  ])('says %i seconds as "%s"', (seconds, words) => {
    expect(ago(seconds)).toBe(words);
  });
});
