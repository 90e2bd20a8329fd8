import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONGEST_KEY, MEMORY_NAMESPACES, memoryPath, readMemoryPath } from './memory-path.js';

const WS = '01900000-0000-7000-8000-00000000000a';
const OWNER = '01900000-0000-7000-8000-00000000000b';
const at = (key: string): string => `workspaces/${WS}/memory/tasks/${OWNER}/${key}`;
const keyOf = (key: string): string | null => {
  const place = readMemoryPath(at(key));
  return 'problem' in place ? null : place.key;
};

describe('readMemoryPath', () => {
  it.each(MEMORY_NAMESPACES)('reads the namespace %s', (namespace) => {
    expect(readMemoryPath(`workspaces/${WS}/memory/${namespace}/${OWNER.toUpperCase()}/notes/today`)).toEqual({
      namespace,
      ownerId: OWNER,
      key: 'notes/today',
    });
  });

  it.each(['notes', 'notes/2026-01-31.md', 'a.b/..c/c..', 'Überblick/日本語/🚪', 'with space', '100%', 'a'.repeat(LONGEST_KEY)])(
    'takes the key %s',
    (key) => {
      expect(keyOf(key)).toBe(key);
    },
  );

  it('keeps one spelling of what looks the same', () => {
    expect(keyOf('U\u0308ber')).toBe('Über');
  });

  it.each([
    ['an empty one', ''],
    ['an empty part', 'a//b'],
    ['an empty part at the end', 'a/'],
    ['an empty part at the beginning', '/a'],
    ['a blank part', 'a/ /b'],
    ['..', '..'],
    ['.. within', 'a/../b'],
    ['. within', 'a/./b'],
    ['three dots', 'a/.../b'],
    ['dots that only look like it', 'a/\uFF0E\uFF0E/b'],
    ['a dot leader', 'a/\u2025/b'],
    ['a slash that only looks like it', 'a\uFF0Fb'],
    ['dots in spaces', 'a/ .. /b'],
    ['encoded dots', 'a/%2e%2E/b'],
    ['an encoded slash', 'a%2Fb'],
    ['an encoded backslash', 'a%5cb'],
    ['a backslash', 'a\\..\\b'],
    ['U+0000', 'a\u0000b'],
    ['an encoded U+0000', 'a%00b'],
    ['a newline', 'a\nb'],
    ['a zero-width character', 'a\u200Bb'],
    ['a change of direction', 'a\u202Eb'],
    ['a lone surrogate', 'a\uD800b'],
    ['private characters', 'a\uE000b'],
    ['501 characters', 'a'.repeat(LONGEST_KEY + 1)],
    ['1,000 characters', 'a'.repeat(1_000)],
    ['21 parts', Array(21).fill('a').join('/')],
  ])('refuses %s', (_, key) => {
    expect(readMemoryPath(at(key))).toEqual({ problem: expect.any(String) });
  });

  it.each([
    '',
    'workspaces',
    `workspaces/${WS}/memory`,
    `workspaces/${WS}/memory/tasks/${OWNER}`,
    `workspaces/${WS}/memory/tasks/nobody/a`,
    `workspaces/${WS}/memory/people/${OWNER}/a`,
    `workspaces/${WS}/memory/toString/${OWNER}/a`,
    `workspaces/${WS}/secrets/tasks/${OWNER}/a`,
    `workspaces/nowhere/memory/tasks/${OWNER}/a`,
    `/workspaces/${WS}/memory/tasks/${OWNER}/a`,
    `workspaces//memory/tasks/${OWNER}/a`,
  ])('refuses the shape of %s', (path) => {
    expect(readMemoryPath(path)).toEqual({ problem: expect.any(String) });
  });

  it('never answers a key that leads elsewhere, and reads again what it wrote', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (key) => {
        const place = readMemoryPath(at(key));
        if ('problem' in place) return true;
        const parts = place.key.split('/');
        expect(readMemoryPath(memoryPath(WS, place))).toEqual(place);
        return parts.every((part) => part.trim() !== '' && !/^\.+$/.test(part.trim()) && !part.includes('\\'));
      }),
      { numRuns: 2_000 },
    );
  });
});
