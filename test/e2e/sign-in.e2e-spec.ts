import { mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/office-db.js';
import { RealServer, waitFor } from '../support/real-server.js';

const SCRIPTED_AGENT = join(import.meta.dirname, '..', 'support', 'agents', 'scripted-agent.mjs');
const WAIT_MS = 30_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: RealServer;
/** A machine's own programs, with an agent among them that wants to know who it works for. */
let bin: string;
beforeAll(async () => {
  database = await cloneDatabase();
  bin = mkdtempSync(join(tmpdir(), 'office-bin-'));
  chmodSync(bin, 0o755);
  install({ 'session/new': [['error', { code: -32_000, message: 'Authentication required' }]] });
  server = await RealServer.start({ databaseUrl: database.url, env: { PATH: `${bin}:${process.env.PATH}` } });
}, 60_000);
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  rmSync(bin, { recursive: true, force: true });
});

function install(deeds: object): void {
  const file = join(bin, 'codex-acp');
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${SCRIPTED_AGENT}' '${JSON.stringify(deeds)}'\n`);
  chmodSync(file, 0o755);
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly error_class: string;
  readonly error_code: string;
  readonly hint: string;
  readonly attempts: readonly unknown[];
}
interface Adapter {
  readonly id: string;
  readonly signed_in: boolean | null;
  readonly problem?: string;
}
const adapter = async (): Promise<Adapter> =>
  (await server.must<{ items: Adapter[] }>('GET /adapters')).items.find(({ id }) => id === 'codex')!;

describe('an agent that needs somebody to sign in', () => {
  it('fails once, says what to do, and works after Mark fixed without a restart', async () => {
    expect(await adapter()).toMatchObject({ signed_in: false, problem: expect.stringContaining('codex login') });
    const { id: ws } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
    const agent = await server.must<{ id: string }>(`POST /workspaces/${ws}/agents`, { name: 'Cody', role: 'worker', adapter: 'codex' });
    await server.must(`POST /workspaces/${ws}/tasks`, { title: 'Write it', assignee_agent_instance_id: agent.id });
    const ended = (n: number): Promise<Run> =>
      waitFor(
        async () => {
          const { items } = await server.must<{ items: Run[] }>(`GET /agents/${agent.id}/runs`);
          const run = items.at(-n);
          return run !== undefined && !['queued', 'scheduled_retry', 'running'].includes(run.status) && run;
        },
        WAIT_MS,
        `the end of run ${n}`,
      );
    const first = await ended(1);
    expect(await server.must(`GET /runs/${first.id}`)).toMatchObject({ status: 'failed', error_class: 'hard', error_code: 'auth' });
    expect((await server.must<Run>(`GET /runs/${first.id}`)).attempts).toHaveLength(1);
    const { items } = await server.must<{ items: { id: string; kind: string; hint: string }[] }>(`GET /workspaces/${ws}/inbox`);
    expect(items).toMatchObject([{ id: first.id, kind: 'agent_run_failed', hint: expect.stringMatching(/sign in|log in|key/i) }]);

    // Somebody signs in.
    install({});
    await server.must(`POST /workspaces/${ws}/inbox/items/${first.id}/dismiss`);
    expect(await ended(2)).toMatchObject({ status: 'completed' });
    await waitFor(async () => (await adapter()).signed_in === true, WAIT_MS, 'the adapter to be known as signed in');
  }, 90_000);
});
