import { describe, expect, it } from 'vitest';
import { taskPrefixFor } from './task-prefix.js';

describe('taskPrefixFor', () => {
  it.each([
    ['Acme', 'ACM'],
    ['Acme Rocket Works', 'ARW'],
    ['a b c d e', 'ABC'],
    ['Ünïcode', 'UNI'],
    ['R2', 'R2'],
    ['42', 'TASK'],
    ['42 towels', 'TOW'],
    ['株式会社', 'TASK'],
    ['  ', 'TASK'],
    ['x', 'X'],
  ])('makes of %j the prefix %s', (name, prefix) => {
    expect(taskPrefixFor(name)).toBe(prefix);
    expect(prefix).toMatch(/^[A-Z][A-Z0-9]{0,9}$/);
  });
});
