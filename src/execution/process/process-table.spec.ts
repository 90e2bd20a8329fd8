import { describe, expect, it } from 'vitest';
import { descendantsOf, isAlive, parseStat, type ProcessRow } from './process-table.js';

const row = (pid: number, parent: number): ProcessRow => ({ pid, parent, group: pid, state: 'S', startTicks: 1 });

describe('parseStat', () => {
  const rest = 'S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 50';

  it.each(['sh', 'a b', 'x) S 1 1', '(((', ''])('reads a program called %j', (name) => {
    expect(parseStat(42, `42 (${name}) ${rest}\n`)).toEqual({ pid: 42, parent: 7, group: 42, state: 'S', startTicks: 98_765 });
  });

  it('refuses what is cut short', () => {
    expect(parseStat(42, '42 (sh) S 7 42')).toBeNull();
    expect(parseStat(42, '')).toBeNull();
  });

  it('knows the dead', () => {
    expect(isAlive(parseStat(42, `42 (sh) Z${rest.slice(1)}`)!)).toBe(false);
  });
});

describe('descendantsOf', () => {
  it('follows every chain, in whatever order the table is', () => {
    const table = [row(5, 4), row(4, 3), row(3, 1), row(9, 8), row(1, 0), row(7, 3)];
    const found = descendantsOf(new Set([3]), table).map(({ pid }) => pid);
    expect(new Set(found)).toEqual(new Set([4, 5, 7]));
    expect(descendantsOf(new Set([99]), table)).toEqual([]);
  });
});
