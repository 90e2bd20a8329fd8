import { describe, expect, it } from 'vitest';
import { isWithin, objectionTo } from './repository-place.js';

describe('the place of a repository', () => {
  it.each([
    ['/a/b', '/a', true],
    ['/a', '/a', true],
    ['/ab', '/a', false],
    ['/a', '/a/b', false],
    ['/a/..b', '/a', true],
    ['/anything', '/', true],
  ])('%s lies in %s: %s', (inner, outer, lies) => {
    expect(isWithin(inner, outer)).toBe(lies);
  });

  const around = { roots: ['/srv', '/home/pat'], own: ['/srv/office', '/srv/work'] };
  it.each<[string, string | null]>([
    ['/srv/doors', null],
    ['/home/pat/doors', null],
    ['/home/patricia/doors', 'it lies outside of OFFICE_REPOSITORY_ROOTS'],
    ['/etc', 'it lies outside of OFFICE_REPOSITORY_ROOTS'],
    ['/srv/office/x', 'it lies in a folder of the office itself'],
    ['/srv/work', 'it lies in a folder of the office itself'],
    ['/srv', 'a folder of the office itself lies in it'],
    ['/srv/workshop', null],
  ])('%s: %s', (path, objection) => {
    expect(objectionTo(path, around)).toBe(objection);
  });

  it('is nowhere where no roots are set', () => {
    expect(objectionTo('/srv/doors', { ...around, roots: [] })).toBe('it lies outside of OFFICE_REPOSITORY_ROOTS');
  });
});
