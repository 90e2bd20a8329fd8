import { describe, expect, it } from 'vitest';
import { nextStop, type OpenRequest, type StopMeans } from './stop-ladder.js';

/** The means in order, with what the agent owes at each step. */
function ladder(...owes: OpenRequest[]): (StopMeans | null)[] {
  const steps: (StopMeans | null)[] = [];
  let means: StopMeans | null = null;
  for (const open of owes) {
    means = nextStop(means, open, 5_000)?.means ?? null;
    steps.push(means);
  }
  return steps;
}

describe('nextStop', () => {
  it('asks a working agent first', () => {
    expect(ladder('prompt', 'prompt', 'prompt', 'prompt')).toEqual(['cancel', 'terminate', 'kill', null]);
  });

  it('lets an agent that heeds the cancel go politely', () => {
    expect(ladder('prompt', 'none', 'none', 'none')).toEqual(['cancel', 'close_stdin', 'terminate', 'kill']);
  });

  it('closes the stdin of an idle agent first', () => {
    expect(ladder('none', 'none', 'none', 'none')).toEqual(['close_stdin', 'terminate', 'kill', null]);
  });

  it('does not talk to one that never came up', () => {
    expect(ladder('start', 'start', 'start')).toEqual(['terminate', 'kill', null]);
  });

  it('gives cancel and SIGTERM the grace, and the end of stdin no more than a second', () => {
    expect(nextStop(null, 'prompt', 5_000)).toEqual({ means: 'cancel', waitMs: 5_000 });
    expect(nextStop('cancel', 'prompt', 5_000)).toEqual({ means: 'terminate', waitMs: 5_000 });
    expect(nextStop(null, 'none', 5_000)).toEqual({ means: 'close_stdin', waitMs: 1_000 });
    expect(nextStop(null, 'none', 200)).toEqual({ means: 'close_stdin', waitMs: 200 });
  });
});
