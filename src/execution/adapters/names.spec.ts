import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADAPTERS } from './domain/adapter-ids.js';
import { allAdapters } from './all.js';

const SRC = join(import.meta.dirname, '..', '..');
/** Where agents have names: here, and in the catalogue of what their errors mean. `mock` and `custom` are words of the wire. */
const NAMED = ['execution/adapters/', 'diagnosis/'];
const NAMES = ADAPTERS.filter((id) => id !== 'mock' && id !== 'custom').join('|');

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.split(sep).join('/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !NAMED.some((folder) => file.startsWith(folder)));

describe('the names of agents', () => {
  it('are known in their own folder only', () => {
    const literal = new RegExp(`['"\`](${NAMES})['"\`]`);
    expect(sources.filter((file) => literal.test(readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
  });

  it('are those that people may choose', () => {
    expect(allAdapters('mock').map(({ id }) => id)).toEqual([...ADAPTERS]);
  });

  it('each come with a tested version where somebody publishes one, and with what to do', () => {
    for (const { programs, install, signIn, skillsFolder } of allAdapters('mock')) {
      for (const { from } of programs) expect(from?.version ?? '1.0.0').toMatch(/^\d+\.\d+\.\d+$/);
      for (const text of [install, signIn, skillsFolder]) expect(text).not.toBe('');
    }
  });
});
