import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { FoundationProcess } from './foundation-process.js';

export type Identity = { readonly uid: number; readonly gid: number } | null;

/** A folder that, as root, nobody else may enter: PostgreSQL's own user cannot walk there either. Gone after the test. */
export function privateFolder(identity: Identity = null): string {
  const dir = mkdtempSync(join(tmpdir(), 'office-start-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  if (identity) chownSync(dir, identity.uid, identity.gid);
  return dir;
}

/** Where anyone may put things, as in `/tmp`. */
export function sharedFolder(): string {
  const dir = privateFolder();
  chmodSync(dir, 0o1777);
  return dir;
}

export const newDataDir = (identity: Identity = null): string => join(privateFolder(identity), 'office');

/** Stopped after the test, if not before. */
export function start(program: string, env: Record<string, string>, identity: Identity = null): FoundationProcess {
  const office = new FoundationProcess(program, env, identity);
  onTestFinished(async () => {
    await office.kill('SIGTERM');
  });
  return office;
}

/** One line, nothing else, and the exit code of a failure. */
export async function refusal(office: FoundationProcess): Promise<string> {
  expect(await office.exited).toBe(1);
  expect(office.said).toEqual([]);
  expect(office.stderr).toMatch(/^.+\n$/);
  return office.stderr.trim();
}

export const processOfPostgres = (office: FoundationProcess): number => office.said.findLast(({ pid }) => pid !== undefined)!.pid!;

export async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
