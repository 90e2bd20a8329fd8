import { describe, expect, it } from 'vitest';
import { isQuiet } from './quiet-run.js';

describe('a turn is quiet', () => {
  it.each([
    [300_001, false, true],
    [300_000, false, false],
    [0, false, false],
    [300_001, true, false],
    [null, false, false],
  ])('after %s ms, waiting for a permission %s: %s', (quietMs, awaitsPermission, quiet) => {
    expect(isQuiet({ quietMs, awaitsPermission }, 300_000)).toBe(quiet);
  });
});
