import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { ProcessWatch } from '../support/faults/process-watch.js';
import { report, SEED } from '../support/faults/report.js';
import { FINE, hire, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, seeded, waitFor } from '../support/real-server.js';

const WORKSPACES = faults(20);
const PAIRS_EACH = 10;
const AGENTS_EACH = 5;
const WAKES = faults(2_000);
const PEOPLE = 8;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  // Fewer places than agents, so that there is somebody to pass over.
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 4, env: { OFFICE_MAX_EXECUTIONS: '1' } });
});
afterAll(async () => {
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

interface Pair {
  readonly workspaceId: string;
  readonly agentId: string;
  readonly taskId: string;
}

/** Tasks that nobody is woken for yet: their workspaces are stopped, so that what comes is claimed in its order and not in that of its coming. */
async function pairsOf(staff: Staff): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (const workspaceId of staff.workspaces) {
    await fleet.must(`POST /workspaces/${workspaceId}/stop`, {});
    const agents = staff.agents.filter((agent) => agent.workspaceId === workspaceId);
    for (let n = 0; n < PAIRS_EACH; n++) {
      const agentId = agents[n % agents.length]!.id;
      const { id: taskId } = await fleet.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
        title: `T${n}`,
        description: FINE,
      });
      pairs.push({ workspaceId, agentId, taskId });
    }
  }
  return pairs;
}

describe(`4 servers, ${WAKES} wakes over ${WORKSPACES * PAIRS_EACH} pairs in ${WORKSPACES} workspaces, seed ${SEED}`, () => {
  it(
    'accounts for every wake, runs no pair twice at once, keeps to every limit and to the order of each agent',
    async () => {
      const random = seeded(SEED);
      const staff = await hire(fleet, { workspaces: WORKSPACES, agents: AGENTS_EACH, concurrent: 1 });
      const pairs = await pairsOf(staff);
      const watch = new ProcessWatch(staff.workspaces);

      // Each person has pairs of their own: two who assign the same task at once make one wake of two.
      const wake = async (person: number): Promise<{ run_id: string; outcome: string }> => {
        const mine = pairs.filter((_, n) => n % PEOPLE === person);
        const { agentId, taskId } = mine[Math.floor(random() * mine.length)]!;
        // Half of them with the class of a person's word, half as an event.
        if (random() < 0.5) return fleet.must(`POST /agents/${agentId}/runs`, { task_id: taskId });
        await fleet.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: null });
        await fleet.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: agentId });
        return { run_id: '', outcome: 'assigned' };
      };
      const told: { run_id: string; outcome: string }[] = [];
      // The first half waits for the start and shows the order, the second comes while everybody works.
      const drive = async (count: number): Promise<void> => {
        await Promise.all(
          Array.from({ length: PEOPLE }, async (_, person) => {
            for (let n = person; n < count; n += PEOPLE) told.push(await wake(person));
          }),
        );
      };
      await drive(WAKES / 2);
      const waiting = await db.query<{ agent_id: string; id: string }>(
        `select agent_id, id from runs where status = 'queued' order by agent_id, wake_class, requested_at, id`,
      );
      for (const workspaceId of staff.workspaces) await fleet.must(`POST /workspaces/${workspaceId}/start`, {});
      const claimedFirst = new Set(waiting.rows.map(({ id }) => id));
      await waitFor(
        async () =>
          (await db.query(`select from runs where status in ('queued', 'running') and id = any($1)`, [[...claimedFirst]])).rowCount === 0,
        60_000 + WAKES * 200,
        'the first half to be done',
      );
      const order = await db.query<{ agent_id: string; id: string }>(
        `select r.agent_id, r.id from runs r join run_attempts a on a.run_id = r.id and a.generation = 1 where r.id = any($1)
          order by r.agent_id, a.claimed_at`,
        [[...claimedFirst]],
      );
      expect(order.rows).toEqual(waiting.rows);
      // And in a workspace nobody is passed over whose agent has been free for a moment (that is how long a settlement takes to be seen).
      const passedOver = await db.query(
        `with first as materialized (
           select r.id, r.workspace_id, r.agent_id, a.claimed_at, (r.wake_class, r.requested_at, r.id) as place
             from runs r join run_attempts a on a.run_id = r.id and a.generation = 1 where r.id = any($1))
         select later.id, sooner.id as passed_over, sooner.claimed_at - later.claimed_at as by
           from first later join first sooner on sooner.workspace_id = later.workspace_id and sooner.place < later.place
            and sooner.claimed_at > later.claimed_at + interval '500 ms'
          where not exists (
            select from run_attempts b join runs q on q.id = b.run_id
             where q.agent_id = sooner.agent_id and b.claimed_at < later.claimed_at + interval '500 ms'
               and b.finished_at > later.claimed_at - interval '500 ms')`,
        [[...claimedFirst]],
      );
      expect(passedOver.rows).toEqual([]);

      await drive(WAKES / 2);
      await waitFor(
        async () => (await db.query(`select from runs where status in ('queued', 'running', 'scheduled_retry')`)).rowCount === 0,
        60_000 + WAKES * 200,
        'everything to be done',
      );
      watch.stop();

      const named = told.filter(({ run_id }) => run_id !== '').map(({ run_id }) => run_id);
      const { rows: known } = await db.query<{ id: string }>(`select id from runs where id = any($1)`, [[...new Set(named)]]);
      expect(known.length).toBe(new Set(named).size);
      const { rows: asked } = await db.query<{ n: number }>(`select count(*)::int as n from wake_requests`);
      expect(asked[0]!.n).toBe(told.length);
      expect(new Set((await db.query<{ host_id: string }>(`select distinct host_id from run_attempts`)).rows).size).toBeGreaterThan(1);
      await report('many wakes', db, { looks: watch.looks });
      expect([...watch.doubled, ...(await violations(db, fleet, staff))]).toEqual([]);
    },
    120_000 + WAKES * 400,
  );
});
