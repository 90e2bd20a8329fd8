import { describe, expect, it } from 'vitest';
import { branchFor, likelyBase } from './branch-name.js';

describe('the branch of a task', () => {
  it.each<[readonly string[], string]>([
    [[], 'office/OFF-1'],
    [['office/OFF-10', 'office/OFF-12'], 'office/OFF-1'],
    [['office/OFF-1'], 'office/OFF-1-2'],
    [['office/off-1'], 'office/OFF-1-2'],
    [['office/OFF-1', 'office/OFF-1-2', 'office/OFF-1-4'], 'office/OFF-1-3'],
    [['office/OFF-1/deeper'], 'office/OFF-1-2'],
    [['office'], 'office-OFF-1'],
    [['OFFICE', 'office-OFF-1'], 'office-OFF-1-2'],
    [['office-OFF-1/deeper', 'office'], 'office-OFF-1-2'],
  ])('is free among %j: %s', (taken, name) => {
    expect(branchFor('OFF-1', taken)).toBe(name);
  });

  it.each<[readonly string[], string | null]>([
    [['trunk'], 'trunk'],
    [['only'], 'only'],
    [['a', 'main', 'master'], 'main'],
    [['a', 'master'], 'master'],
    [['a', 'b'], null],
    [[], null],
  ])('begins, without a HEAD, among %j with %s', (branches, base) => {
    expect(likelyBase(branches)).toBe(base);
  });
});
