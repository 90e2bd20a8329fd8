import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/platform/database/embedded/postmaster.js';
import { waitFor } from '../support/real-server.js';

const ROOT = join(import.meta.dirname, '..', '..');
const COMMANDS = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text!);
const SHARED = ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'ormconfig.ts', 'src', 'migrations', 'node_modules'];

/** A folder that looks like a clone after its first start, so that what the commands leave behind is not in ours. */
const folder = mkdtempSync(join(tmpdir(), 'office-readme-'));
let port: number;
let server: ReturnType<typeof spawn>;
let said = '';

/** The README's own words, but for the port: another server may be running here. */
const here = (command: string): string => command.replaceAll('127.0.0.1:8484', `127.0.0.1:${port}`);

async function run(command: string): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder, OFFICE_PORT: String(port) };
  const { stdout } = await promisify(execFile)('bash', ['-euc', here(command)], { cwd: folder, env, timeout: 90_000 });
  return stdout;
}

beforeAll(async () => {
  for (const name of SHARED) symlinkSync(join(ROOT, name), join(folder, name));
  // Its own, because `npm start` builds into it while other tests start servers from ours.
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  port = await freePort();
  server = spawn('bash', ['-euc', COMMANDS[0]!], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, OFFICE_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  for (const stream of [server.stdout!, server.stderr!]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  await waitFor(
    () => {
      if (server.exitCode !== null) throw new Error(said);
      return said.includes('office is open');
    },
    100_000,
    '`npm start` to open the office',
  );
}, 120_000);

afterAll(async () => {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  process.kill(-server.pid!, 'SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe('every command of the README', () => {
  it('begins with npm start', () => {
    expect(COMMANDS[0]!.trim()).toBe('npm start');
    expect(COMMANDS).toHaveLength(4);
  });

  it('plays the demo to its end', async () => {
    const told = await run(COMMANDS[1]!);
    expect(told).toContain('CEO is paused.');
    expect(told).toContain('Runs:');
  }, 100_000);

  it('gives an agent a task', async () => {
    const told = await run(COMMANDS[2]!);
    expect(told).toContain('"title":"Say hello"');
    expect(told).toMatch(/"status":"(queued|running|completed)"/);
  });

  it('asks for the adapters', async () => {
    const { items } = JSON.parse(await run(COMMANDS[3]!)) as { items: { id: string; installed: boolean }[] };
    expect(items.map(({ id }) => id)).toEqual(['claude', 'codex', 'copilot', 'amp', 'opencode', 'auggie', 'gemini', 'mock', 'custom']);
    expect(items.find(({ id }) => id === 'mock')).toMatchObject({ installed: true });
  });
});
