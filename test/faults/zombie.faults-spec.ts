import type pg from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, hostIdOf, LEASE_SEC, metricOf } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { ProcessWatch } from '../support/faults/process-watch.js';
import { report, SEED } from '../support/faults/report.js';
import { hire, seeToEverything, Workload, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, mockScript, processesWith, seeded, waitFor, type RealServer } from '../support/real-server.js';

const FREEZES = faults(20);
/** The supervisor is told of the lease a moment after it was renewed, and has five seconds to end what runs. */
const ENDED_WITHIN_MS = (LEASE_SEC + 5) * 1_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
let staff: Staff;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 3 });
  staff = await hire(fleet, { workspaces: 2, agents: 3 });
});
afterAll(async () => {
  for (const server of fleet?.servers ?? []) server.signal('SIGCONT');
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

interface Held {
  readonly id: string;
  readonly generation: number;
  readonly execution_id: string;
}

/** Turns of these tasks that the server has begun. */
const heldBy = async (server: RealServer, taskIds: readonly string[]): Promise<Held[]> =>
  (
    await db.query<Held>(
      `select r.id, r.generation, a.execution_id from runs r join run_attempts a on a.run_id = r.id and a.generation = r.generation
        where r.status = 'running' and r.lease_host_id = $1 and r.started_at is not null and r.task_id = any($2)`,
      [hostIdOf(server), taskIds],
    )
  ).rows;

const terminal = async (ids: readonly string[]) =>
  (
    await db.query(
      `select r.id, r.status, r.failure_kind, r.error_message, r.finished_at, r.generation, a.outcome, a.finished_at as attempt_finished
         from runs r join run_attempts a on a.run_id = r.id and a.generation = r.generation where r.id = any($1) order by r.id`,
      [ids],
    )
  ).rows;

/**
 * Turns that outlast the freeze, until the server holds some. Only of these is it known how they must end: others that it holds may
 * have settled in the moment in which it froze.
 */
async function atWork(server: RealServer): Promise<string[]> {
  const taskIds: string[] = [];
  // The others may take all of the first. Of twice as many they have no room for all.
  for (let round = 0; round < 3 && (await heldBy(server, taskIds)).length === 0; round++) {
    for (const agent of staff.agents) {
      await fleet.ask(`POST /agents/${agent.id}/unpause`, {});
      const { id } = await fleet.must<{ id: string }>(`POST /workspaces/${agent.workspaceId}/tasks`, {
        title: 'long',
        description: mockScript({ say: 'long' }, { sleep_ms: 60_000 * LEASE_SEC, when: { turn: [1] } }, { say: 'done' }),
        assignee_agent_instance_id: agent.id,
      });
      taskIds.push(id);
    }
    await waitFor(async () => (await heldBy(server, taskIds)).length > 0, 5_000, 'the server to hold some').catch((error: unknown) => {
      if (round === 2) throw error;
    });
  }
  return taskIds;
}

describe(`a server frozen for two leases, then awake again, ${FREEZES} times, seed ${SEED}`, () => {
  it(
    'is fenced by its supervisor, settled by another, and changes nothing when it wakes',
    async () => {
      const random = seeded(SEED);
      const watch = new ProcessWatch(staff.workspaces);
      const load = new Workload(fleet, staff, seeded(SEED + 1), 30);
      let people = load.start(1, 400);
      let late = 0;
      for (let freeze = 0; freeze < FREEZES; freeze++) {
        const victim = fleet.servers[Math.floor(random() * fleet.servers.length)]!;
        // First: people cancel what they find.
        await people.stop();
        const long = await atWork(victim);
        victim.signal('SIGSTOP');
        const frozenAt = performance.now();
        const held = await heldBy(victim, long);
        await waitFor(
          () => held.every(({ execution_id }) => processesWith(`OFFICE_EXECUTION_ID=${execution_id}`).length === 0),
          ENDED_WITHIN_MS,
          'the supervisor to end the agents of the frozen server',
        );
        const ids = held.map(({ id }) => id);
        // Others look a tenth of a lease apart, once they have been up for one.
        await waitFor(
          async () => (await terminal(ids)).every(({ status }) => status !== 'running'),
          3_000 * LEASE_SEC,
          'the others to settle what it held',
        );
        await pause(Math.max(0, 2_000 * LEASE_SEC - (performance.now() - frozenAt)));
        const before = await terminal(ids);
        for (const run of before) {
          expect(run).toMatchObject({ status: 'failed', failure_kind: 'interrupted', outcome: 'interrupted' });
          expect(JSON.parse(run.error_message as string)).toEqual({ kind: 'interrupted', cause: 'lost_lease' });
        }
        victim.signal('SIGCONT');
        await waitFor(async () => (await metricOf(victim, 'office_live_runs')) === 0, 20_000, 'the zombie to let go');
        expect(await terminal(ids)).toEqual(before);
        late += await metricOf(victim, 'office_stale_writes_total');
        // What the others hold of them would keep everybody busy.
        for (const id of long) await fleet.must(`PATCH /tasks/${id}`, { state: 'cancelled' });
        people = load.start(1, 400);
      }
      await load.stop();
      await seeToEverything(fleet, staff, 90_000);
      watch.stop();
      expect(late, 'stale writes that were counted').toBeGreaterThan(0);
      await report('zombie', db, { freezes: FREEZES, stale_writes: late, answers: Object.fromEntries(load.answers) });
      expect([...watch.doubled, ...(await violations(db, fleet, staff))]).toEqual([]);
    },
    120_000 + FREEZES * 60_000,
  );
});
