import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, hostIdOf } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { ProcessWatch } from '../support/faults/process-watch.js';
import { report, SEED } from '../support/faults/report.js';
import { hire, seeToEverything, Workload } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, mockScript, processesWith, seeded, waitFor } from '../support/real-server.js';

const ROUNDS = faults(10);

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 3 });
});
afterAll(async () => {
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

const ready = async (url: string): Promise<{ status: string; draining: boolean }> =>
  (await (await fetch(`${url}/health/ready`)).json()) as { status: string; draining: boolean };

describe(`a rolling restart of 3 servers under load, ${ROUNDS} times round, seed ${SEED}`, () => {
  it(
    'cuts nothing off: drained servers finish what they hold, take nothing new and go on answering',
    async () => {
      const staff = await hire(fleet, { workspaces: 3, agents: 3, threshold: 100 });
      const watch = new ProcessWatch(staff.workspaces);
      const load = new Workload(fleet, staff, seeded(SEED)).start(3, 150);
      for (let round = 0; round < ROUNDS; round++) {
        for (const server of fleet.servers) {
          const hostId = hostIdOf(server);
          const drain = await server.must<{ host_id: string; draining: boolean; drain_until: string }>('POST /admin/drain', {
            deadline_sec: 60,
          });
          expect(drain).toMatchObject({ host_id: hostId, draining: true });
          expect(await ready(server.url)).toMatchObject({ status: 'ok', draining: true });
          // Begun before the word came; from then on nothing is.
          const { rows: now } = await db.query<{ at: Date }>(`select clock_timestamp() as at`);
          await waitFor(
            async () => (await fleet.hosts()).find(({ id }) => id === hostId)!.running === 0,
            60_000,
            'the drained server to finish',
          );
          expect((await fleet.hosts()).find(({ id }) => id === hostId)).toMatchObject({ draining: true, online: true });
          expect((await server.call('GET /me')).status).toBe(200);
          const { rows: since } = await db.query(
            `select run_id from run_attempts where host_id = $1 and claimed_at > $2::timestamptz + interval '500 ms'`,
            [hostId, now[0]!.at],
          );
          expect(since, 'claims of a drained server').toEqual([]);
          expect(await server.end('SIGTERM')).toBe(0);
          await server.boot();
          await waitFor(async () => !(await ready(server.url)).draining, 5_000, 'a new start to take part again');
        }
      }
      await load.stop();
      await seeToEverything(fleet, staff, 90_000);
      watch.stop();
      const { rows } = await db.query(`select id from runs where failure_kind = 'interrupted'`);
      expect(rows, 'turns that a restart cut off').toEqual([]);
      await report('rolling restart', db, { rounds: ROUNDS, requests: load.requests, answers: Object.fromEntries(load.answers) });
      expect([...watch.doubled, ...(await violations(db, fleet, staff))]).toEqual([]);
    },
    120_000 + ROUNDS * 180_000,
  );

  it('cuts off at the deadline what does not end by itself, as interrupted, and has the rest go on elsewhere', async () => {
    const staff = await hire(fleet, { workspaces: 1, agents: 1, concurrent: 4 });
    const [workspaceId] = staff.workspaces as [string];
    const { id: taskId } = await fleet.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
      title: 'long',
      description: mockScript({ say: 'long' }, { sleep_ms: 60_000, when: { turn: [1] } }, { say: 'done' }),
      assignee_agent_instance_id: staff.agents[0]!.id,
    });
    const owner = await waitFor(
      async () => {
        const { rows } = await db.query<{ host: string }>(
          `select lease_host_id as host from runs where task_id = $1 and status = 'running' and started_at is not null`,
          [taskId],
        );
        return rows[0]?.host;
      },
      20_000,
      'the turn to begin',
    );
    const server = fleet.servers.find((each) => hostIdOf(each) === owner)!;
    await server.must('POST /admin/drain', { deadline_sec: 600 });
    // The newer deadline counts.
    await server.must('POST /admin/drain', { deadline_sec: 1 });
    await waitFor(async () => (await fleet.hosts()).find(({ id }) => id === owner)!.running === 0, 15_000, 'the deadline');
    const { rows } = await db.query(`select status, failure_kind, error_message from runs where task_id = $1`, [taskId]);
    expect(rows).toEqual([
      { status: 'failed', failure_kind: 'interrupted', error_message: '{"kind":"interrupted","cause":"drain_deadline"}' },
    ]);
    expect(processesWith(`OFFICE_WORKSPACE_ID=${workspaceId}`)).toEqual([]);

    // Its folder is there, so its task waits for that host; what has no folder goes elsewhere.
    const other = await fleet.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
      title: 'elsewhere',
      description: mockScript({ say: 'hello' }),
      assignee_agent_instance_id: staff.agents[0]!.id,
    });
    await fleet.must(`POST /agents/${staff.agents[0]!.id}/runs`, { task_id: taskId });
    await waitFor(
      async () => (await db.query(`select from runs where task_id = $1 and status = 'completed'`, [other.id])).rowCount === 1,
      20_000,
      'the other task to be done elsewhere',
    );
    const [waiting] = await fleet.all<{ waiting_on: string; task: { id: string } }>(`GET /workspaces/${workspaceId}/runs?status=queued`);
    expect(waiting).toMatchObject({ waiting_on: 'host_at_capacity', task: { id: taskId } });
    expect(await server.end('SIGTERM')).toBe(0);
    await server.boot();
    await waitFor(
      async () => (await db.query(`select from runs where task_id = $1 and status = 'completed'`, [taskId])).rowCount === 1,
      20_000,
      'the task to go on where its folder is',
    );
  });
});
