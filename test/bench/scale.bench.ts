import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { THE_SYSTEM } from '../../src/platform/actor.js';
import { RealServer } from '../support/real-server.js';
import type { Bench, BenchPlace, Figure } from './figures.js';
import { furnish } from './furnish.js';
import { openOffice } from './noop-office.js';

/** In CI two must do: that it works is all that is asked there. */
const serversOf = ({ size }: BenchPlace): readonly number[] => (size < 0.1 ? [1, 2] : [1, 2, 4]);
const WORKSPACES = 16;
const CLIENTS = 8;

/** Seconds of cores that the whole machine has been busy for since it was started: servers, database and whoever asks them. */
const busyCoreSec = (): number => cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1_000;

interface Worked {
  readonly runsPerSec: number;
  readonly eventsPerSec: number;
  readonly runsPerCoreSec: number;
}

/** A server in a process of its own, which is kept: what is compiled once is compiled for all. */
class NoopServer {
  private readonly child;
  private readonly lines;

  constructor() {
    const script = join(import.meta.dirname, 'noop-server.ts');
    this.child = spawn(process.execPath, ['--import', '@swc-node/register/esm-register', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async do(what: string): Promise<void> {
    this.child.stdin.write(`${what}\n`);
    if ((await this.lines.next()).done === true) throw new Error('a server of the bench has ended');
  }
  async end(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.stdin.end();
    await gone;
  }
}

/** Makes so many runs wait, by a person for each workspace. Answers how many. */
async function fill(url: string, runs: number): Promise<number> {
  const pairs = await furnish(url, { workspaces: WORKSPACES, agents: 8, tasks: Math.ceil(runs / WORKSPACES), concurrent: 8 });
  const desk = await openOffice(url);
  await Promise.all(
    Array.from({ length: WORKSPACES }, async (_, person) => {
      for (let n = person; n < pairs.length; n += WORKSPACES) {
        const { workspaceId, agentId, taskId } = pairs[n]!;
        await desk.unitOfWork.run(workspaceId, (tx) =>
          desk.wakes.wake(tx, { agentId, on: { taskId }, reason: 'task_assigned', actor: THE_SYSTEM }),
        );
      }
    }),
  );
  await desk.close();
  return pairs.length;
}

/** Runs that wait already, taken by servers that begin together. */
async function together(url: string, servers: readonly NoopServer[], wanted: number): Promise<Worked> {
  const runs = await fill(url, wanted);
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  await db.query('analyze');
  await Promise.all(servers.map((server) => server.do(`open ${url}`)));
  const busy = busyCoreSec();
  await Promise.all(servers.map((server) => server.do('go')));
  for (;;) {
    const { rows } = await db.query(`select 1 from runs where status in ('queued', 'running', 'scheduled_retry') limit 1`);
    if (rows.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const coreSec = busyCoreSec() - busy;
  await Promise.all(servers.map((server) => server.do('close')));
  // Without the beginning, in which every new connection plans its statements, and the end, when there is not enough for all.
  const { rows } = await db.query<{ sec: number; events: number }>(
    `select extract(epoch from percentile_disc(0.9) within group (order by finished_at)
                               - percentile_disc(0.3) within group (order by finished_at))::float8 as sec,
            (select count(*)::int from office_events) as events from runs`,
  );
  await db.end();
  const { sec, events } = rows[0]!;
  return { runsPerSec: (0.6 * runs) / sec, eventsPerSec: (0.6 * (events - runs)) / sec, runsPerCoreSec: runs / coreSec };
}

async function workOf(place: BenchPlace): Promise<Map<number, Worked>> {
  const servers = Array.from({ length: Math.max(...serversOf(place)) }, () => new NoopServer());
  try {
    // Everybody has worked before anybody is measured.
    if (place.size >= 0.1) await together(await place.database(), servers, WORKSPACES * CLIENTS);
    const runs = Math.max(32, Math.round(1_200 * place.size));
    const worked = new Map<number, Worked>();
    for (const count of serversOf(place)) worked.set(count, await together(await place.database(), servers.slice(0, count), runs));
    return worked;
  } finally {
    await Promise.all(servers.map((server) => server.end()));
  }
}

interface Answered {
  readonly perSec: number;
  readonly perCoreSec: number;
}

/** Requests of clients who have a server each, as far as there are. */
async function answers(
  servers: readonly RealServer[],
  count: number,
  ask: (server: RealServer, n: number) => Promise<unknown>,
): Promise<Answered> {
  // Compiled code first.
  await Promise.all(
    servers.map(async (server) => {
      for (let n = 0; n < 5 * CLIENTS; n++) await ask(server, count + n);
    }),
  );
  const [busy, began] = [busyCoreSec(), performance.now()];
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = client; n < count; n += CLIENTS) await ask(servers[client % servers.length]!, n);
    }),
  );
  return { perSec: (count * 1_000) / (performance.now() - began), perCoreSec: count / (busyCoreSec() - busy) };
}

type Desk = Readonly<Record<'reads' | 'writes', Answered>>;

/** Servers that come one after the other to the same database; those that are there have been asked before. */
async function desksOf(place: BenchPlace): Promise<Map<number, Desk>> {
  const url = await place.database();
  const servers: RealServer[] = [];
  const join = async (): Promise<void> => {
    servers.push(await RealServer.start({ databaseUrl: url, env: { OFFICE_ADMIN_TOKEN: 'bench-admin-token-0123456789' } }));
  };
  try {
    await join();
    // Workspaces of their own, as work has them: in one, writes wait for each other's place in its events.
    const workspaces: string[] = [];
    for (let n = 0; n < CLIENTS; n++) workspaces.push((await servers[0]!.must<{ id: string }>('POST /workspaces', { name: `W${n}` })).id);
    const at = (n: number): string => `/workspaces/${workspaces[n % CLIENTS]!}/tasks`;
    const desks = new Map<number, Desk>();
    for (const count of serversOf(place)) {
      while (servers.length < count) await join();
      const write = (server: RealServer, n: number) => server.must(`POST ${at(n)}`, { title: `T${n}` });
      const read = (server: RealServer, n: number) => server.must(`GET ${at(n)}?limit=20`);
      const [some, more] = [Math.max(40, Math.round(600 * place.size)), Math.max(80, Math.round(1_500 * place.size))];
      desks.set(count, { writes: await answers(servers, some, write), reads: await answers(servers, more, read) });
    }
    return desks;
  } finally {
    await Promise.all(servers.map((server) => server.dispose()));
  }
}

/** One line for each number of servers, those of several against one's. */
function lines<Measured>(what: string, measured: ReadonlyMap<number, Measured>, of: (one: Measured) => number): Figure[] {
  const one = of(measured.get(1)!);
  return [...measured].map(([servers, each]) => ({
    what: `${what}, ${servers} ${servers === 1 ? 'server' : 'servers'}`,
    ours: of(each),
    ...(servers === 1 ? {} : { baseline: { of: '1 server', value: one } }),
    unit: '/s',
    target: servers === 1 ? '' : 'at least 0.9x',
  }));
}

export const scaleBench: Bench = {
  name: 'scale',
  async run(place: BenchPlace): Promise<Figure[]> {
    const [worked, answered] = [await workOf(place), await desksOf(place)];
    const [alone, desk] = [worked.get(1)!, answered.get(1)!];
    const ofACore = (what: string, ours: number): Figure => ({ what: `${what} for a second of a core`, ours, unit: '/s', target: '' });
    return [
      ...lines('runs/s', worked, ({ runsPerSec }) => runsPerSec),
      ...lines('events/s', worked, ({ eventsPerSec }) => eventsPerSec),
      ofACore('runs', alone.runsPerCoreSec),
      ...lines('API reads/s', answered, ({ reads }) => reads.perSec),
      ofACore('API reads', desk.reads.perCoreSec),
      ...lines('API writes/s', answered, ({ writes }) => writes.perSec),
      ofACore('API writes', desk.writes.perCoreSec),
    ];
  },
};
