import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, mockScript, processesWith, RealServer, seeded, waitFor } from '../support/real-server.js';

const SEED = Number(process.env.OFFICE_SEED ?? 20_261_130);
const KILLS = faults(30);

/** What a busy office does, in the proportions of trouble rather than of life. */
const SCRIPTS = [
  mockScript({ say: 'working' }, { sleep_ms: 150 }, { say: 'done' }),
  mockScript({ say: 'quick' }),
  mockScript({ say: 'long' }, { sleep_ms: 2_000 }, { say: 'done' }),
  mockScript({ fail: { code: -32603, message: 'Internal error', data: { message: 'no such model' } } }),
  mockScript({ spawn_child: { hold_stdout: true } }, { say: 'left a child' }),
  mockScript({ ignore_sigterm: true }, { say: 'stubborn' }, { sleep_ms: 600 }),
  mockScript({ exit: { code: 3 } }),
];

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let server: RealServer;
const workspaces: string[] = [];
const agents: { id: string; workspaceId: string }[] = [];
const tasks: { id: string; workspaceId: string; agentId: string }[] = [];

const rows = async <Row extends pg.QueryResultRow>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  (await db.query<Row>(sql, parameters)).rows;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url, 4);
  server = await RealServer.start({ databaseUrl: database.url, env: { OFFICE_MAX_EXECUTIONS: '4' } });
  for (let w = 0; w < 2; w++) {
    const workspace = await server.must<{ id: string }>('POST /workspaces', { name: `W${w}` });
    workspaces.push(workspace.id);
    await server.must(`PATCH /workspaces/${workspace.id}/settings`, { agent_failure_threshold: 100 });
    for (let a = 0; a < 3; a++) {
      const agent = await server.must<{ id: string }>(`POST /workspaces/${workspace.id}/agents`, {
        name: `A${a}`,
        role: 'worker',
        adapter: 'mock',
        max_concurrent_sessions: 2,
      });
      agents.push({ id: agent.id, workspaceId: workspace.id });
    }
  }
});

afterAll(async () => {
  await server?.dispose();
  await db?.end();
  await database?.drop();
});

async function newTask(random: () => number): Promise<void> {
  const agent = agents[Math.floor(random() * agents.length)]!;
  const task = await server.must<{ id: string }>(`POST /workspaces/${agent.workspaceId}/tasks`, {
    title: 'work',
    description: SCRIPTS[Math.floor(random() * SCRIPTS.length)],
    assignee_agent_instance_id: agent.id,
  });
  tasks.push({ ...task, workspaceId: agent.workspaceId, agentId: agent.id });
}

async function oneThing(random: () => number): Promise<void> {
  const task = tasks[Math.floor(random() * tasks.length)];
  if (task === undefined || random() < 0.5) return newTask(random);
  await server.must(`POST /tasks/${task.id}/comments`, { body: 'go on', interrupt: random() < 0.2 });
}

/** Keeps the office busy until told otherwise; a server that is gone is no error here. */
function busy(random: () => number): { stop(): Promise<void> } {
  let going = true;
  const work = (async () => {
    while (going)
      await oneThing(random).catch((error: unknown) => {
        if (server.alive && going && !String(error).includes('fetch failed')) throw error;
      });
  })();
  return {
    stop: async () => {
      going = false;
      await work;
    },
  };
}

/** Agents whose counter is not the number of their counted failures since their last success. */
const COUNTERS = `
  select a.id, a.consecutive_failures, c.counted from agent_instances a cross join lateral (
    select count(*)::int as counted from runs r where r.agent_id = a.id and r.failure_kind = 'error' and r.finished_at > coalesce((
      select max(c.finished_at) from runs c where c.agent_id = a.id and c.status = 'completed'), '-infinity')) c
   where a.consecutive_failures <> c.counted`;

describe(`kill -9 of the server, ${KILLS} times, seed ${SEED}`, () => {
  it(
    'leaves no process, no run without an owner, and nothing that cannot go on',
    async () => {
      const random = seeded(SEED);
      for (let kill = 0; kill < KILLS; kill++) {
        const load = busy(random);
        const moment = 100 + random() * 1_500;
        await new Promise((resolve) => setTimeout(resolve, moment));
        const [before] = await rows<{ boots: string[] }>(`select array_agg(distinct boot_id::text) as boots from hosts`);
        await server.end('SIGKILL');
        await load.stop();
        await waitFor(
          () => workspaces.every((id) => processesWith(`OFFICE_WORKSPACE_ID=${id}`).length === 0),
          5_000,
          'the agents to be gone',
        );
        await server.boot();

        const lost = await rows(`select id from runs where status = 'running' and lease_boot_id::text = any($1)`, [before!.boots]);
        expect(lost, `runs of the dead server after kill ${kill}`).toEqual([]);
        const interruptions = await rows<{ runs: number }>(
          `select count(*)::int as runs from interruptions where boot_id::text = any($1) group by workspace_id`,
          [before!.boots],
        );
        for (const { runs } of interruptions) expect(runs).toBe(1);
        const unlisted = await rows(
          `select r.id from runs r where r.failure_kind = 'interrupted'
            and (select count(*) from interruption_runs n where n.run_id = r.id) <> 1`,
        );
        expect(unlisted, 'interrupted runs that no restart answers for, or two').toEqual([]);
        const miscounted = await rows(COUNTERS);
        expect(miscounted, 'counters that say something else than the runs').toEqual([]);
      }
    },
    60_000 + KILLS * 15_000,
  );

  it('ends with every wake accounted for, counters that say what the runs say, and gapless events', async () => {
    // From the database: a request whose answer was lost with the server made its task all the same.
    tasks.length = 0;
    tasks.push(
      ...(await rows<(typeof tasks)[number]>(
        `select id, workspace_id as "workspaceId", assignee_agent_instance_id as "agentId" from tasks order by id`,
      )),
    );
    // A person's word on every pair: recovers what failed or was interrupted, so that everything can run to its end.
    for (const task of tasks) await server.must(`PATCH /tasks/${task.id}`, { description: mockScript({ say: 'fine now' }) });
    for (const task of tasks) await server.must(`POST /agents/${task.agentId}/runs`, { task_id: task.id });
    const left = () => rows<{ id: string }>(`select id from runs where status in ('queued', 'scheduled_retry', 'running')`);
    await waitFor(
      async () => {
        // A turn that was under way at that word may fail after it, and then what is queued waits for another.
        for (const { agent_id, task_id } of await rows<{ agent_id: string; task_id: string }>(
          `select agent_id, task_id from task_sessions where state = 'FAILED'`,
        )) {
          await server.must(`POST /agents/${agent_id}/runs`, { task_id });
        }
        return (await left()).length === 0;
      },
      30_000 + tasks.length * 1_000,
      'everything to run to its end',
    ).catch(async (error: Error) => {
      const waiting = await Promise.all((await left()).map(({ id }) => server.must(`GET /runs/${id}`)));
      throw new Error(`${error.message}: ${JSON.stringify(waiting)}`);
    });
    const unfinished = await rows(
      `select t.id, t.state, (
           select json_agg(json_build_array(r.status, r.reason, r.cancel_reason, left(r.error_message, 300), r.generation) order by r.id)
             from runs r where r.task_id = t.id) as runs
         from tasks t where not exists (select from runs r where r.task_id = t.id and r.status = 'completed')`,
    );
    expect(unfinished, JSON.stringify(unfinished)).toEqual([]);
    expect(await rows(`select id from wake_requests where outcome = 'pending' or (outcome <> 'refused' and run_id is null)`)).toEqual([]);
    expect(await rows(COUNTERS)).toEqual([]);
    expect((await rows(`select id from runs where failure_kind = 'interrupted'`)).length, 'turns that a kill cut off').toBeGreaterThan(0);
    const twice = await rows(
      `select a.run_id from run_attempts a join runs r on r.id = a.run_id
        where a.outcome is null group by a.run_id having count(*) > 0`,
    );
    expect(twice, 'attempts without an outcome').toEqual([]);
    const gaps = await rows(`select workspace_id from office_events group by workspace_id having max(seq) <> count(*) or min(seq) <> 1`);
    expect(gaps).toEqual([]);
    const live = await rows(`select id from task_sessions where state in ('STARTING', 'RUNNING')`);
    expect(live, 'sessions that still look alive').toEqual([]);
  }, 240_000);
});
