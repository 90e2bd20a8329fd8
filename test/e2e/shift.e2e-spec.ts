import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/office-db.js';
import { mockScript, processesWith, RealServer, waitFor } from '../support/real-server.js';

const servers: RealServer[] = [];
const start = async (env: Record<string, string> = {}, home?: string): Promise<RealServer> => {
  const server = await RealServer.start({ env, ...(home === undefined ? {} : { home }) });
  servers.push(server);
  return server;
};
afterEach(async () => {
  for (const server of servers.splice(0)) await server.dispose();
});

interface Run {
  id: string;
  status: string;
  failure_kind: string | null;
  error_message: string | null;
  session_id: string;
}

async function atWork(
  server: RealServer,
  ...steps: object[]
): Promise<{ workspaceId: string; agentId: string; taskId: string; runId: string }> {
  const { id: workspaceId } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
  const { id: agentId } = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, {
    name: 'Ada',
    role: 'worker',
    adapter: 'mock',
  });
  const { id: taskId } = await server.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
    title: 'Work',
    description: mockScript(...steps),
    assignee_agent_instance_id: agentId,
  });
  const runId = await waitFor(
    async () => {
      const { items } = await server.must<{ items: Run[] }>(`GET /workspaces/${workspaceId}/runs`);
      const run = items[0] && (await server.must<Run & { session_id: string | null }>(`GET /runs/${items[0].id}`));
      return run?.session_id != null && (await server.must(`GET /sessions/${run.session_id}`)).state === 'RUNNING' && run.id;
    },
    15_000,
    'the turn to begin',
  );
  return { workspaceId, agentId, taskId, runId };
}

describe('the end of a shift', () => {
  it('lets a turn end by itself, closes with 0 and leaves nothing running', async () => {
    const server = await start({ OFFICE_DRAIN_SEC: '20' });
    const { workspaceId, runId } = await atWork(server, { say: 'almost' }, { sleep_ms: 1_500 }, { say: 'done' });
    expect(await server.end('SIGTERM')).toBe(0);
    expect(processesWith(`OFFICE_WORKSPACE_ID=${workspaceId}`)).toEqual([]);
    expect(server.log.at(-1)).toContain('office is closed');
    await server.boot();
    expect(await server.must(`GET /runs/${runId}`)).toMatchObject({ status: 'completed' });
  });

  it('cuts a turn off at the deadline: interrupted, uncounted, and a comment goes on from there', async () => {
    const server = await start({ OFFICE_DRAIN_SEC: '1' });
    const { agentId, taskId, runId } = await atWork(server, { say: 'long' }, { sleep_ms: 20_000, when: { turn: [1] } }, { say: 'done' });
    expect(await server.end('SIGTERM')).toBe(0);
    await server.boot();
    const run = await server.must<Run>(`GET /runs/${runId}`);
    expect(run).toMatchObject({ status: 'failed', failure_kind: 'interrupted' });
    expect(JSON.parse(run.error_message!)).toEqual({ kind: 'interrupted', cause: 'drain_deadline' });
    expect(await server.must(`GET /agents/${agentId}`)).toMatchObject({ consecutive_failures: 0, open_failures: 0 });
    await server.must(`POST /tasks/${taskId}/comments`, { body: 'go on' });
    await waitFor(
      async () => {
        const { items } = await server.must<{ items: Run[] }>(
          `GET /workspaces/${(await server.must(`GET /tasks/${taskId}`)).workspace_id}/runs`,
        );
        return items[0]!.id !== runId && items[0]!.status === 'completed';
      },
      20_000,
      'the next turn',
    );
  });

  it('does not wait at the second signal', async () => {
    const server = await start({ OFFICE_DRAIN_SEC: '60' });
    await atWork(server, { say: 'long' }, { sleep_ms: 60_000 });
    server.signal('SIGTERM');
    await waitFor(() => server.log.some((line) => line.includes('waiting for turns to end')), 5_000, 'the drain');
    expect(await server.end('SIGTERM')).toBe(1);
  });
});

describe('a start', () => {
  it.concurrent.each([
    [{ OFFICE_PORT: 'x' }, /^Setting OFFICE_PORT must be a whole number from 0 to 65535\.$/m],
    [{ OFFICE_DATABASE_URL: 'mysql://x' }, /^Setting OFFICE_DATABASE_URL must begin with postgres/],
    [{ OFFICE_LEASE_SEC: '1' }, /^Setting OFFICE_LEASE_SEC must be a whole number from 5/],
    [{ OFFICE_ADMIN_TOKEN: 'short' }, /^Setting OFFICE_ADMIN_TOKEN must be 20 to 512 visible/],
    [{ OFFICE_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, /127\.0\.0\.1:1/],
  ])('with %j stops with one plain line', async (env, line) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../dist/src/main.js')], {
      env: { PATH: process.env.PATH, OFFICE_DATA_DIR: '/tmp/office-never-made', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(1);
    expect(said.trim().split('\n')).toHaveLength(1);
    expect(said).toMatch(line);
  });

  it('on a port that is taken launches nobody', async () => {
    const database = await cloneDatabase();
    const db = new pg.Client({ connectionString: database.url });
    const taken = createServer();
    try {
      await db.connect();
      const first = await RealServer.start({ databaseUrl: database.url });
      servers.push(first);
      const { id: workspaceId } = await first.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
      const { id: agentId } = await first.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, {
        name: 'Ada',
        role: 'worker',
        adapter: 'mock',
      });
      await first.must(`POST /agents/${agentId}/pause`, {});
      await first.must(`POST /workspaces/${workspaceId}/tasks`, { title: 'Work', assignee_agent_instance_id: agentId });
      await first.end('SIGTERM');
      await db.query(`update agent_instances set pause_reason = null, pause_source = null`);
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      const { port } = taken.address() as AddressInfo;
      await expect(RealServer.start({ databaseUrl: database.url, env: { OFFICE_PORT: String(port) } })).rejects.toThrow(
        /Cannot listen on .*EADDRINUSE/,
      );
      const { rows } = await db.query(`select status, generation from runs`);
      expect(rows).toEqual([{ status: 'queued', generation: 0 }]);
    } finally {
      taken.close();
      await db.end();
      await database.drop();
    }
  });

  it('on the data dir of a living server is refused with one line; after its kill -9 it is not', async () => {
    const server = await start();
    await expect(RealServer.start({ home: server.home })).rejects.toThrow(/Another server \(process \d+\) is using the data dir/);
    await server.end('SIGKILL');
    const second = await start({}, server.home);
    expect((await second.call('GET /me')).status).toBe(200);
    await second.end('SIGTERM');
  });
});
