import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { openDatabaseGate, type DatabaseGate } from '../support/database-gate.js';
import { Fleet, hostIdOf, LEASE_SEC, metricOf } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { Namespaces } from '../support/faults/namespaces.js';
import { OwnPostgres } from '../support/faults/own-postgres.js';
import { ProcessWatch } from '../support/faults/process-watch.js';
import { report, SEED } from '../support/faults/report.js';
import { hire, seeToEverything, Workload, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, mockScript, processesWith, seeded, waitFor } from '../support/real-server.js';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (let step = closing.pop(); step; step = closing.pop()) await step();
});

/** How a server is cut off from its database, and reached again. */
interface Cut {
  off(n: number): void;
  on(n: number): Promise<void> | void;
}

interface Network {
  readonly fleet: Fleet;
  readonly db: pg.Pool;
  readonly cut: Cut;
  readonly gates: readonly DatabaseGate[];
}

/** Each server has a way to the database of its own that we can close. */
async function behindGates(size: number): Promise<Network> {
  const database = await cloneDatabase();
  closing.push(database.drop);
  const gates = await Promise.all(Array.from({ length: size }, () => openDatabaseGate(database.url)));
  closing.push(async () => void (await Promise.all(gates.map((gate) => gate.close()))));
  const db = openPool(database.url);
  closing.push(() => db.end());
  const fleet = await Fleet.open({ databaseUrls: gates.map(({ url }) => url), size });
  closing.push(() => fleet.dispose());
  return { fleet, db, gates, cut: { off: (n) => gates[n]!.hang(), on: (n) => gates[n]!.open() } };
}

/** Each server lives in a network namespace, and PostgreSQL on this side of its cable. Null where the machine does not let us. */
async function inNamespaces(size: number): Promise<Network | null> {
  const namespaces = Namespaces.open(size);
  if (namespaces === null) return null;
  closing.push(() => namespaces.close());
  const postgres = await OwnPostgres.start({ settings: { listen_addresses: '*', fsync: 'off' }, networks: [namespaces.network] });
  closing.push(() => postgres.dispose());
  const name = await postgres.create();
  const db = openPool(postgres.urlOf(name));
  closing.push(() => db.end());
  const fleet = await Fleet.open({
    databaseUrls: Array.from({ length: size }, (_, n) => postgres.urlOf(name, namespaces.gateway(n))),
    size,
    each: (n) => ({ namespace: namespaces.name(n), env: { OFFICE_HOST: namespaces.address(n) } }),
  });
  closing.push(() => fleet.dispose());
  return { fleet, db, gates: [], cut: { off: (n) => namespaces.pull(n), on: (n) => namespaces.plugIn(n) } };
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly failure_kind: string | null;
  readonly outcome: string | null;
  readonly late: { readonly kind: string } | null;
  readonly execution_id: string;
  readonly said: number;
}

const runsOf = async (db: pg.Pool, taskIds: readonly string[]): Promise<Run[]> =>
  (
    await db.query<Run>(
      `select r.id, r.status, r.failure_kind, a.outcome, a.late_result as late, a.execution_id,
              (select count(*)::int from task_comments c where c.run_id = r.id and c.source = 'session') as said
         from runs r join run_attempts a on a.run_id = r.id and a.generation = r.generation where r.task_id = any($1) order by r.id`,
      [taskIds],
    )
  ).rows;

const asleep = (ms: number): string => mockScript({ say: 'long' }, { sleep_ms: ms, when: { turn: [1] } }, { say: 'done' });

/** A turn that server `n` holds. Others may have taken some before. */
async function turnOn({ fleet, db }: Network, staff: Staff, n: number, script: string): Promise<string> {
  const hostId = hostIdOf(fleet.servers[n]!);
  for (let attempt = 0; attempt < 20; attempt++) {
    const agent = staff.agents[attempt % staff.agents.length]!;
    const { id } = await fleet.must<{ id: string }>(`POST /workspaces/${agent.workspaceId}/tasks`, {
      title: 'turn',
      description: script,
      assignee_agent_instance_id: agent.id,
    });
    const host = await waitFor(
      async () =>
        (
          await db.query<{ host: string }>(
            `select lease_host_id as host from runs where task_id = $1 and started_at is not null and status = 'running'`,
            [id],
          )
        ).rows[0]?.host,
      20_000,
      'a turn to begin',
    );
    if (host === hostId) return id;
  }
  throw new Error('the server takes nothing');
}

async function cutOffDuringWork(network: Network): Promise<void> {
  const { fleet, db, cut } = network;
  const staff = await hire(fleet, { workspaces: 2, agents: 4, concurrent: 8 });
  const watch = new ProcessWatch(staff.workspaces);
  const task = await turnOn(network, staff, 0, asleep(6_000 * LEASE_SEC));
  const [before] = await runsOf(db, [task]);
  cut.off(0);
  // Its supervisor knows no more than that the lease ends.
  await waitFor(
    () => processesWith(`OFFICE_EXECUTION_ID=${before!.execution_id}`).length === 0,
    (LEASE_SEC + 5) * 1_000,
    'the owner to fence itself',
  );
  await waitFor(async () => (await runsOf(db, [task]))[0]!.status !== 'running', 4_000 * LEASE_SEC, 'another to settle it');
  const settled = (await runsOf(db, [task]))[0]!;
  expect(settled).toMatchObject({ status: 'failed', failure_kind: 'interrupted', outcome: 'interrupted', said: 0 });
  await cut.on(0);
  await waitFor(async () => (await fleet.hosts()).every(({ online }) => online), 30_000, 'the server to be back');
  expect((await runsOf(db, [task]))[0]).toMatchObject({ id: settled.id, status: 'failed', failure_kind: 'interrupted', said: 0 });
  await seeToEverything(fleet, staff, 60_000);
  watch.stop();
  expect([...watch.doubled, ...(await violations(db, fleet, staff))]).toEqual([]);
}

/** Something every few hundredths of a second, for longer than a server can be cut off before another takes over. */
const STREAM = mockScript(
  ...Array.from({ length: 900 }, (_, n) => [{ say: `part ${n}` }, { tool: `look ${n}` }, { sleep_ms: 40 }])
    .flat()
    .map((step) => ({ ...step, when: { turn: [1] } })),
  { say: 'done' },
);

interface Entry {
  readonly seq: number;
  readonly kind: string;
  readonly title: string | null;
  readonly body: string;
  readonly rev: number;
}

const entriesOf = async (db: pg.Pool, runId: string): Promise<Entry[]> =>
  (await db.query<Entry>(`select seq, kind, title, body, rev::int from session_entries where run_id = $1 order by seq`, [runId])).rows;

/** Cut off while its agent talks: what has been written down stays, is there once, and nothing is added to it. */
async function cutOffDuringFlush({ fleet, db }: Network, staff: Staff, task: string, cut: Pick<Cut, 'off' | 'on'>): Promise<void> {
  const [begun] = await runsOf(db, [task]);
  await waitFor(async () => (await entriesOf(db, begun!.id)).length > 20, 20_000, 'some of the talk to be written down');
  cut.off(0);
  await waitFor(
    () => processesWith(`OFFICE_EXECUTION_ID=${begun!.execution_id}`).length === 0,
    (LEASE_SEC + 5) * 1_000,
    'the owner to fence itself',
  );
  await waitFor(async () => (await runsOf(db, [task]))[0]!.status !== 'running', 4_000 * LEASE_SEC, 'another to settle it');
  const before = await entriesOf(db, begun!.id);
  await cut.on(0);
  // The batch that it could not bring home is refused, whenever it comes.
  await waitFor(async () => (await metricOf(fleet.servers[0]!, 'office_transcript_refused_total')) > 0, 40_000, 'the rest to be refused');
  await waitFor(async () => (await metricOf(fleet.servers[0]!, 'office_live_runs')) === 0, 20_000, 'it to let go');
  expect(await entriesOf(db, begun!.id)).toEqual(before);
  expect((await runsOf(db, [task]))[0]).toMatchObject({ status: 'failed', failure_kind: 'interrupted', outcome: 'interrupted', said: 0 });
  expect(before.map(({ seq }) => seq)).toEqual(before.map((_, n) => n + 1));
  const spoken = (kind: string, text: (entry: Entry) => string | null) => before.filter((entry) => entry.kind === kind).map(text);
  const said = spoken('message', ({ body }) => body);
  expect(said.length).toBeGreaterThan(5);
  expect(said).toEqual(said.map((_, n) => `part ${n}`));
  const tools = spoken('tool', ({ title }) => title);
  expect(tools).toEqual(tools.map((_, n) => `look ${n}`));
  const shown = await fleet.must<{ items: { seq: number }[] }>(`GET /runs/${begun!.id}/entries?limit=1`);
  expect(shown.items).toMatchObject([{ seq: before.length }]);
  await seeToEverything(fleet, staff, 60_000);
  // What follows is told after it, in the same session.
  const [{ first }] = (
    await db.query<{ first: number }>(
      `select min(first_seq)::int as first from run_attempts a join runs r on r.id = a.run_id where r.task_id = $1 and r.id <> $2`,
      [task, begun!.id],
    )
  ).rows as [{ first: number }];
  expect(first).toBe(before.length + 1);
  expect(await violations(db, fleet, staff)).toEqual([]);
}

describe(`a server cut off from the database for longer than its lease, seed ${SEED}`, () => {
  it('during work: fences itself, is settled as interrupted, and its result changes nothing', async () => {
    await cutOffDuringWork(await behindGates(2));
  });

  it('during a settle: what was on its way when the network froze arrives after another has settled, and is kept as late', async () => {
    const network = await behindGates(2);
    const { fleet, db, gates } = network;
    const staff = await hire(fleet, { workspaces: 2, agents: 4, concurrent: 8 });
    const task = await turnOn(network, staff, 0, asleep(1_000));
    // Everything it says from now on lies on the wire: renewals, the settle, its commit.
    gates[0]!.freeze();
    await waitFor(async () => (await runsOf(db, [task]))[0]!.status !== 'running', 5_000 * LEASE_SEC, 'another to settle it');
    expect((await runsOf(db, [task]))[0]).toMatchObject({ status: 'failed', failure_kind: 'interrupted', said: 0, late: null });
    gates[0]!.thaw();
    await waitFor(async () => (await runsOf(db, [task]))[0]!.late?.kind === 'turn_ended', 60_000, 'the late result to arrive');
    expect((await runsOf(db, [task]))[0]).toMatchObject({
      status: 'failed',
      failure_kind: 'interrupted',
      said: 0,
      late: { kind: 'turn_ended' },
    });
    await seeToEverything(fleet, staff, 60_000);
    expect(await violations(db, fleet, staff)).toEqual([]);
  });

  it('during a transcript flush: what was written is there once, what was not is refused, and the run is interrupted', async () => {
    const network = await behindGates(2);
    const staff = await hire(network.fleet, { workspaces: 2, agents: 4, concurrent: 8 });
    await cutOffDuringFlush(network, staff, await turnOn(network, staff, 0, STREAM), network.cut);
  });

  it('during a transcript flush that arrives when another has settled the run', async () => {
    const network = await behindGates(2);
    const staff = await hire(network.fleet, { workspaces: 2, agents: 4, concurrent: 8 });
    const [gate] = network.gates as [DatabaseGate];
    await cutOffDuringFlush(network, staff, await turnOn(network, staff, 0, STREAM), { off: () => gate.freeze(), on: () => gate.thaw() });
  });

  it(
    `at any moment, ${faults(60)} times under load: a result arrives once or its run is interrupted, never both`,
    async () => {
      const network = await behindGates(3);
      const { fleet, db, cut } = network;
      const random = seeded(SEED);
      const staff = await hire(fleet, { workspaces: 3, agents: 3, threshold: 100 });
      const watch = new ProcessWatch(staff.workspaces);
      const load = new Workload(fleet, staff, seeded(SEED + 1), 40).start(2, 200);
      for (let n = 0; n < faults(60); n++) {
        await pause(random() * 1_000);
        const victim = Math.floor(random() * 3);
        cut.off(victim);
        // Some are over before anybody noticed, some outlast the lease.
        await pause(random() < 0.6 ? random() * 1_500 : 1_400 * LEASE_SEC);
        await cut.on(victim);
      }
      await load.stop();
      await waitFor(async () => (await fleet.hosts()).every(({ online }) => online), 60_000, 'all servers to be back');
      await seeToEverything(fleet, staff, 120_000);
      watch.stop();
      await report('partitions', db, { cuts: faults(60), answers: Object.fromEntries(load.answers) });
      expect([...watch.doubled, ...(await violations(db, fleet, staff))]).toEqual([]);
    },
    240_000 + faults(60) * 15_000,
  );

  it('in network namespaces of their own, with the cable pulled', async () => {
    const network = await inNamespaces(2);
    if (network === null) {
      process.stdout.write('this machine lets nobody make network namespaces: no cable pulled\n');
      return;
    }
    await cutOffDuringWork(network);
    const staff = await hire(network.fleet, { workspaces: 2, agents: 4, concurrent: 8 });
    await cutOffDuringFlush(network, staff, await turnOn(network, staff, 0, STREAM), network.cut);
  });
});
