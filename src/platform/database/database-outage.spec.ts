import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { DatabaseOutage } from './database-outage.js';

const gone = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

let clock: FakeClock;
let outage: DatabaseOutage;
let lines: string[];
beforeEach(() => {
  clock = new FakeClock();
  outage = new DatabaseOutage(clock);
  lines = [];
  for (const level of ['log', 'warn', 'error'] as const) {
    vi.spyOn(Logger.prototype, level).mockImplementation((_facts: unknown, phrase: unknown) => void lines.push(String(phrase)));
  }
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('DatabaseOutage', () => {
  it('says two lines for a minute of eight loops failing', () => {
    for (let waited = 0; waited < 60_000;) {
      let longest = 0;
      for (let loop = 0; loop < 8; loop++) longest = Math.max(longest, outage.failed(gone));
      clock.advance(longest);
      waited += longest;
    }
    outage.recovered();
    outage.recovered();
    expect(lines).toEqual(['database is away', 'database is back']);
    expect(outage.count).toBe(1);
  });

  it('waits longer and longer, to a limit, and never less than a moment', () => {
    const waits: number[] = [];
    for (let turn = 0; turn < 30; turn++) {
      const wait = outage.failed(gone);
      waits.push(wait);
      clock.advance(wait);
    }
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(150);
    expect(waits[0]).toBeLessThanOrEqual(250);
    expect(waits[29]).toBeGreaterThanOrEqual(3_750);
    expect(Math.max(...waits)).toBeLessThanOrEqual(6_250);
  });

  it('makes no news of stragglers that find a dead connection just after the return', () => {
    outage.failed(gone);
    clock.advance(10_000);
    outage.recovered();
    for (let straggler = 0; straggler < 20; straggler++) {
      outage.failed(gone);
      clock.advance(1_000);
      outage.recovered();
    }
    expect(lines).toEqual(['database is away', 'database is back']);
  });

  it('tells of the next outage, however soon, when it lasts', () => {
    outage.failed(gone);
    outage.recovered();
    for (let second = 0; second < 40; second++) {
      outage.failed(gone);
      clock.advance(1_000);
    }
    outage.recovered();
    expect(lines).toEqual(['database is away', 'database is back', 'database is away', 'database is back']);
    expect(outage.count).toBe(2);
  });

  it('tells of failures that are no outage, up to a few a minute, and slows the loop down', () => {
    const bug = new Error('column "colour" does not exist');
    const waits = Array.from({ length: 100 }, () => outage.failed(bug));
    expect(lines).toEqual(Array.from({ length: 10 }, () => 'loop failed'));
    expect(waits[0]).toBeLessThanOrEqual(500);
    expect(waits[99]).toBeGreaterThanOrEqual(3_750);
    clock.advance(61_000);
    outage.failed(bug);
    expect(lines).toHaveLength(11);
    expect(outage.count).toBe(0);
  });
});
