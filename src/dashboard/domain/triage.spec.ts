import { describe, expect, it } from 'vitest';
import { badgeOf, byUrgency, type Ranked } from './triage.js';

const agent = (name: string, about: Partial<Ranked> = {}): Ranked => ({ name, id: name, live_sessions: 0, last_run: null, ...about });

describe('the sidebar', () => {
  it.each([
    [{ paused: true, live: 2 }, 'paused'],
    [{ paused: false, live: 2 }, 'live'],
    [{ paused: false, live: 0 }, 'none'],
  ] as const)('shows %o as %s', (agent, badge) => {
    expect(badgeOf(agent)).toBe(badge);
  });
});

describe('the cards', () => {
  it('stand in order: at work, then the last to have run, then by name', () => {
    const cards = [
      agent('Zoe'),
      agent('Ann'),
      agent('Old', { last_run: { id: '01' } }),
      agent('New', { last_run: { id: '02' } }),
      agent('Live', { live_sessions: 3 }),
      agent('Lively', { live_sessions: 1, last_run: { id: '01' } }),
    ];
    expect(cards.toSorted(byUrgency).map(({ name }) => name)).toEqual(['Lively', 'Live', 'New', 'Old', 'Ann', 'Zoe']);
  });
});
