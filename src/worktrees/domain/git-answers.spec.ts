import { describe, expect, it } from 'vitest';
import { readChangedFiles, readGitlinks, readLog, readStatus } from './git-answers.js';

const words = (...parts: string[]): string => parts.map((part) => `${part}\0`).join('');

describe('what git answers', () => {
  it('a log, whatever a subject holds', () => {
    expect(readLog('c1\x1fPat\x1f2026-01-02T03:04:05+01:00\x1fone\x1ftwo\0c2\x1f\x1f\x1f')).toEqual([
      { commit: 'c1', author: 'Pat', at: '2026-01-02T03:04:05+01:00', subject: 'one\x1ftwo' },
      { commit: 'c2', author: '', at: '', subject: '' },
    ]);
    expect(readLog('')).toEqual([]);
  });

  it('changed files, also when the lines are not counted any more', () => {
    const raw = [
      ':100644 100644 1 2 M',
      'a b',
      ':100644 100644 1 1 R100',
      'old',
      'new',
      ':000000 120000 0 1 A',
      'link',
      ':100644 000000 1 0 D',
      '-x',
    ];
    expect(readChangedFiles(words(...raw, '1\t2\ta b', '0\t0\t', 'old', 'new', '-\t-\tlink'))).toEqual([
      { path: 'a b', old_path: null, change: 'modified', additions: 1, deletions: 2 },
      { path: 'new', old_path: 'old', change: 'renamed', additions: 0, deletions: 0 },
      { path: 'link', old_path: null, change: 'added', additions: null, deletions: null },
      { path: '-x', old_path: null, change: 'deleted', additions: null, deletions: null },
    ]);
    expect(readChangedFiles(words(...raw.slice(0, 2)))).toHaveLength(1);
  });

  it('a name with a tab in it', () => {
    expect(readChangedFiles(words(':000000 100644 0 1 A', 'a\tb', '3\t0\ta\tb'))).toEqual([
      { path: 'a\tb', old_path: null, change: 'added', additions: 3, deletions: 0 },
    ]);
  });

  it.each([
    ['?? new/', 'untracked', 'new/'],
    [' M a', 'modified', 'a'],
    ['A  a', 'added', 'a'],
    ['AM a', 'added', 'a'],
    [' D a b', 'deleted', 'a b'],
    ['T  a', 'type_changed', 'a'],
    ['UU a', 'conflict', 'a'],
    ['AA a', 'conflict', 'a'],
    ['DU a', 'conflict', 'a'],
  ])('a state: %j', (line, change, path) => {
    expect(readStatus(words(line))).toEqual([{ path, change }]);
  });

  it('the places of other repositories', () => {
    expect(readGitlinks(words('100644 1 0\ta', '160000 2 0\tinner place', '160000 2 0\tx\ty'))).toEqual(['inner place', 'x\ty']);
  });
});
