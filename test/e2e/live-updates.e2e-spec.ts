import { execFile } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ConsoleLogger } from '@nestjs/common';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { OfficeClient, type OfficeEvent, type WebSocketClass } from '../../src/client/office-client.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { EmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.js';
import { faults, RealServer, seeded, waitFor } from '../support/real-server.js';

const WRITERS = 200;
const READERS = 20;
const EVENTS = faults(10_000);
const PATIENCE_MS = EVENTS < 10_000 ? 100_000 : 900_000;
const OFFICE_ADMIN_TOKEN = 'office_test_admin_of_all_three';

let dataDir: string;
let postgres: EmbeddedPostgres;
let servers: RealServer[];

beforeAll(async () => {
  // One of our own, because it will be killed. It may forget what the machine forgets, but nothing it has confirmed.
  dataDir = mkdtempSync(join(tmpdir(), 'office-live-'));
  postgres = await EmbeddedPostgres.start({
    dataDir,
    password: 'test',
    settings: { fsync: 'off', full_page_writes: 'off' },
    clock: new SystemClock(),
    logger: new ConsoleLogger({ logLevels: ['error'] }),
  });
  const options = { databaseUrl: postgres.url, env: { OFFICE_ADMIN_TOKEN, OFFICE_LOG_LEVEL: 'info' } };
  const first = await RealServer.start(options);
  servers = [first, ...(await Promise.all([RealServer.start(options), RealServer.start(options)]))];
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.dispose()));
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

describe('three servers on one database', () => {
  it.each([
    // What comes before each disturbance is this one, so it is a case of its own only where there is time for it.
    ...(process.env.OFFICE_FAULTS === 'full' ? [['nothing else', () => Promise.resolve()] as const] : []),
    ['a server that is killed in the middle and comes back', killAServer] as const,
    ['a PostgreSQL that is killed in the middle and comes back', killPostgres] as const,
  ])(
    'tell every reader everything, in order and once, with %s',
    async (_what, disturb) => {
      const { id: workspace } = await servers[0]!.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
      const written = { events: 0 };
      const done = new AbortController();
      setMaxListeners(0, done.signal);
      const readers = Array.from({ length: READERS }, (_, n) => reader(workspace, seeded(n + 1), done.signal));
      const writers = Array.from({ length: WRITERS }, (_, n) => writer(workspace, seeded(1_000 + n), written));
      await waitFor(() => written.events > EVENTS / 3, PATIENCE_MS, 'a third of the events');
      await disturb();
      await Promise.all(writers);
      const rows = await table(workspace);
      expect(rows.length).toBeGreaterThanOrEqual(EVENTS);
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
      const { heard } = await collect(readers, rows.length);
      done.abort();
      for (const events of heard) expect(events).toEqual(rows);
    },
    PATIENCE_MS + 20_000,
  );
});

describe('the package', () => {
  it('offers the client, which brings nothing of the server along', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      `import { OfficeClient } from 'agent-office/client'; process.stdout.write(typeof OfficeClient);`,
    ]);
    expect(stdout).toBe('function');
    const folder = join(import.meta.dirname, '..', '..', 'dist', 'src', 'client');
    const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
    const imported = files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/(?:from |import\()'([^']+)'/g)].map(([, from]) => from!),
    );
    expect(imported.filter((from) => !from.startsWith('./'))).toEqual(['ws']);
  });
});

interface Told {
  readonly seq: number;
  readonly action: string;
  readonly payload: unknown;
}

async function collect(readers: { readonly events: Told[]; readonly failed: Error[] }[], total: number): Promise<{ heard: Told[][] }> {
  await waitFor(
    () => readers.every(({ events, failed }) => failed.length > 0 || events.length >= total),
    60_000,
    'all readers to have everything',
  );
  expect(readers.flatMap(({ failed }) => failed)).toEqual([]);
  return { heard: readers.map(({ events }) => events) };
}

/** Comes and goes, sometimes rudely, each time to any of the servers, and goes on from its last event. */
function reader(workspaceId: string, random: () => number, done: AbortSignal): { events: Told[]; failed: Error[] } {
  const heard = { events: [] as Told[], failed: [] as Error[] };
  const visit = async (): Promise<void> => {
    let socket: WebSocket | undefined;
    const noted = function (url: string, protocols: string[]): WebSocket {
      return (socket = new WebSocket(url, protocols));
    };
    const { url } = servers[Math.floor(random() * servers.length)]!;
    const client = new OfficeClient({ url, token: OFFICE_ADMIN_TOKEN, webSocket: noted as unknown as WebSocketClass, heartbeatMs: 1_000 });
    client.followWorkspace(workspaceId, {
      after: heard.events.at(-1)?.seq ?? 0,
      onEvent: ({ seq, action, payload }: OfficeEvent) => heard.events.push({ seq, action, payload }),
      onResync: () => heard.failed.push(new Error('was told to begin anew')),
      onEnd: ({ code }) => heard.failed.push(new Error(code)),
    });
    for (let stay = 0; stay < 3 && !done.aborted; stay++) {
      await pause(random() * 600, undefined, { signal: done }).catch(() => undefined);
      if (random() < 0.5) socket?.terminate();
    }
    client.close();
  };
  const life = async (): Promise<void> => {
    while (!done.aborted) await visit();
  };
  life().catch((error: Error) => heard.failed.push(error));
  return heard;
}

/** Takes a task and changes it again and again, at whichever server answers. */
async function writer(workspaceId: string, random: () => number, written: { events: number }): Promise<void> {
  const insist = async <Body>(route: string, body: object): Promise<Body> => {
    for (;;) {
      const server = servers[Math.floor(random() * servers.length)]!;
      const reply = await server.call<Body>(route, body).catch(() => null);
      if (reply !== null && reply.status < 300) return reply.body;
      if (reply !== null && reply.status < 500) throw new Error(`${route}: ${reply.status} ${JSON.stringify(reply.body)}`);
      await pause(50 + random() * 200);
    }
  };
  const { id } = await insist<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, { title: 'Count' });
  written.events++;
  for (let change = 1; change < EVENTS / WRITERS; change++) {
    await insist(`PATCH /tasks/${id}`, { title: `Count to ${change}` });
    written.events++;
  }
}

async function killAServer(): Promise<void> {
  const server = servers[1]!;
  await server.end('SIGKILL');
  await server.boot();
}

async function killPostgres(): Promise<void> {
  const [pid] = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
  const isBack = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: postgres.url });
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  };
  await pause(200);
  await waitFor(isBack, 30_000, 'PostgreSQL to be back');
}

async function table(workspaceId: string): Promise<Told[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    const { rows } = await client.query<Told>(
      `select seq::int as seq, action, payload from office_events where workspace_id = $1 order by seq`,
      [workspaceId],
    );
    return rows;
  } finally {
    await client.end();
  }
}
