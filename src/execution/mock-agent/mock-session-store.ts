import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface MockSession {
  readonly id: string;
  readonly cwd: string;
  /** The script that a prompt brought, for the prompts that bring none. */
  script: unknown;
  readonly log: { readonly role: 'user' | 'agent'; readonly text: string }[];
}

const folder = join(process.env['HOME'] || tmpdir(), '.cache', 'agent-office-mock');
const fileOf = (id: string): string => join(folder, `${id.replace(/[^\w-]/g, '_')}.json`);

/** Sessions on disk, below HOME, so that another process with the same HOME can load them. */
export function saveSession(session: MockSession): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(fileOf(session.id), JSON.stringify(session), { mode: 0o600 });
}

/** Null when there is none of that id in that folder, as with real agents. */
export function findSession(id: string, cwd: string): MockSession | null {
  try {
    const session = JSON.parse(readFileSync(fileOf(id), 'utf8')) as MockSession;
    return session.id === id && session.cwd === cwd ? session : null;
  } catch {
    return null;
  }
}
