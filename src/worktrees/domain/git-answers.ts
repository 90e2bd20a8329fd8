export interface Commit {
  readonly commit: string;
  readonly author: string;
  /** RFC 3339, with the author's own offset. */
  readonly at: string;
  readonly subject: string;
}

export const CHANGE_KINDS = ['added', 'modified', 'deleted', 'renamed', 'copied', 'type_changed'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface ChangedFile {
  readonly path: string;
  readonly old_path: string | null;
  readonly change: ChangeKind;
  /** Null for what is no text. */
  readonly additions: number | null;
  readonly deletions: number | null;
}

export interface Uncommitted {
  readonly path: string;
  readonly change: 'untracked' | 'conflict' | ChangeKind;
}

const KINDS: Readonly<Record<string, ChangeKind>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
};

/** Fields of one commit, which `readLog` takes apart again. */
export const LOG_FORMAT = '%H%x1f%an%x1f%aI%x1f%s';

/** The answer of `log -z --format=LOG_FORMAT`. */
export function readLog(said: string): Commit[] {
  return parts(said).map((entry) => {
    const [commit = '', author = '', at = '', ...subject] = entry.split('\x1f');
    return { commit, author, at, subject: subject.join('\x1f') };
  });
}

/** The answer of `diff-tree --raw --numstat -z`: first a line for every file, then the lines counted in each. */
export function readChangedFiles(said: string): ChangedFile[] {
  const words = said.split('\0');
  const files = new Map<string, { path: string; old_path: string | null; change: ChangeKind }>();
  const counts = new Map<string, readonly [string, string]>();
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word.startsWith(':')) {
      const kind = word.split(' ')[4]?.[0] ?? 'M';
      const moved = kind === 'R' || kind === 'C';
      const first = words[++at] ?? '';
      const path = moved ? (words[++at] ?? '') : first;
      files.set(path, { path, old_path: moved ? first : null, change: KINDS[kind] ?? 'modified' });
      continue;
    }
    const [additions, deletions, ...name] = word.split('\t');
    if (additions === undefined || deletions === undefined) continue;
    const path = name.join('\t');
    if (path !== '') {
      counts.set(path, [additions, deletions]);
    } else {
      at += 2;
      counts.set(words[at] ?? '', [additions, deletions]);
    }
  }
  return [...files.values()].map((file) => {
    const [additions, deletions] = counts.get(file.path) ?? ['-', '-'];
    return { ...file, additions: countOf(additions), deletions: countOf(deletions) };
  });
}

/** The answer of `status --porcelain=v1 -z --no-renames`. */
export function readStatus(said: string): Uncommitted[] {
  return parts(said).map((entry) => ({ path: entry.slice(3), change: changeOf(entry.slice(0, 2)) }));
}

/** The populated places of other repositories in `ls-files --stage -z`. */
export function readGitlinks(said: string): string[] {
  return parts(said)
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
}

function changeOf(code: string): Uncommitted['change'] {
  if (code === '??') return 'untracked';
  if (code.includes('U') || code === 'AA' || code === 'DD') return 'conflict';
  return KINDS[code.trim()[0] ?? 'M'] ?? 'modified';
}

const parts = (said: string): string[] => said.split('\0').filter((part) => part !== '');
const countOf = (said: string): number | null => (/^\d+$/.test(said) ? Number(said) : null);
