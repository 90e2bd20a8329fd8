import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { Bench, BenchPlace, Figure } from './figures.js';
import { furnish } from './furnish.js';
import { openOffice, queue } from './noop-office.js';
import { RealServer } from '../support/real-server.js';

interface Worked {
  readonly runsPerSec: number;
  readonly eventsPerSec: number;
}

class NoopServer {
  private readonly child;
  private readonly lines;

  constructor(url: string) {
    const script = join(import.meta.dirname, 'noop-server.ts');
    this.child = spawn(process.execPath, ['--import', '@swc-node/register/esm-register', script, url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async line(): Promise<string> {
    return String((await this.lines.next()).value);
  }
  say(word: string): void {
    this.child.stdin.write(`${word}\n`);
  }
  async end(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.say('end');
    await gone;
  }
}

/** Runs that wait already, taken by so many servers that begin together. */
async function together(url: string, servers: number, runs: number): Promise<Worked> {
  const pairs = await furnish(url, { workspaces: 16, agents: 8, tasks: Math.ceil(runs / 16), concurrent: 8 });
  const desk = await openOffice(url);
  await queue(desk, pairs);
  await desk.close();
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  await db.query('analyze');
  const staff = Array.from({ length: servers }, () => new NoopServer(url));
  for (const server of staff) await server.line();
  for (const server of staff) server.say('go');
  for (;;) {
    const { rows } = await db.query(`select 1 from runs where status in ('queued', 'running', 'scheduled_retry') limit 1`);
    if (rows.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await Promise.all(staff.map((server) => server.end()));
  const { rows } = await db.query<{ sec: number; events: number }>(
    `select extract(epoch from max(finished_at) - min(claimed_at))::float8 as sec, (select count(*)::int from office_events) as events from runs`,
  );
  await db.end();
  const { sec, events } = rows[0]!;
  return { runsPerSec: pairs.length / sec, eventsPerSec: (events - pairs.length) / sec };
}

/** Requests a second of one server, and for each second of its CPU. */
async function requests(
  url: string,
  count: number,
  ask: (server: RealServer, n: number) => Promise<unknown>,
): Promise<{ perSec: number; perCpuSec: number }> {
  const server = await RealServer.start({ databaseUrl: url });
  try {
    const cpuOf = async (): Promise<number> =>
      Number(/^process_cpu_seconds_total (\S+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())![1]);
    await ask(server, 0);
    const [cpu, began] = [await cpuOf(), performance.now()];
    await Promise.all(
      Array.from({ length: 8 }, async (_, person) => {
        for (let n = person; n < count; n += 8) await ask(server, n);
      }),
    );
    const seconds = (performance.now() - began) / 1_000;
    return { perSec: count / seconds, perCpuSec: count / ((await cpuOf()) - cpu) };
  } finally {
    await server.dispose();
  }
}

export const scaleBench: Bench = {
  name: 'scale',
  async run(place: BenchPlace): Promise<Figure[]> {
    const runs = Math.max(160, Math.round(6_000 * place.size));
    const one = await together(await place.database(), 1, runs);
    const four = await together(await place.database(), 4, runs);
    const read = await place.database();
    let workspaceId = '';
    const reads = await requests(read, Math.max(200, Math.round(10_000 * place.size)), async (server) => {
      if (workspaceId === '') workspaceId = (await server.must<{ id: string }>('POST /workspaces', { name: 'Bench' })).id;
      return server.must(`GET /workspaces/${workspaceId}/tasks`);
    });
    const writes = await requests(read, Math.max(100, Math.round(3_000 * place.size)), (server, n) =>
      server.must(`POST /workspaces/${workspaceId}/tasks`, { title: `T${n}` }),
    );
    return [
      { what: 'runs/s, 1 server', ours: one.runsPerSec, unit: '/s', target: '' },
      {
        what: 'runs/s, 4 servers together',
        ours: four.runsPerSec,
        baseline: { of: '1 server', value: one.runsPerSec },
        unit: '/s',
        target: 'at least 0.9x',
      },
      { what: 'events/s, 1 server', ours: one.eventsPerSec, unit: '/s', target: '' },
      {
        what: 'events/s, 4 servers together',
        ours: four.eventsPerSec,
        baseline: { of: '1 server', value: one.eventsPerSec },
        unit: '/s',
        target: 'at least 0.9x',
      },
      { what: 'API reads/s, 1 server, 8 clients', ours: reads.perSec, unit: '/s', target: '' },
      { what: 'API reads for a second of CPU', ours: reads.perCpuSec, unit: '/s', target: '' },
      { what: 'API writes/s, 1 server, 8 clients', ours: writes.perSec, unit: '/s', target: '' },
      { what: 'API writes for a second of CPU', ours: writes.perCpuSec, unit: '/s', target: '' },
    ];
  },
};
