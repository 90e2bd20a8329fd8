import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, hostIdOf, LEASE_SEC } from '../support/faults/fleet.js';
import { violations } from '../support/faults/invariants.js';
import { hire, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { mockScript, waitFor, type RealServer } from '../support/real-server.js';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
let staff: Staff;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 2 });
  staff = await hire(fleet, { workspaces: 1, agents: 1, concurrent: 20 });
});
afterAll(async () => {
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

interface Turn {
  readonly id: string;
  readonly host_id: string;
  readonly path: string;
  readonly session_id: string;
  readonly status: string;
  readonly said: string | null;
}

const newestOf = async (taskId: string): Promise<Turn | undefined> =>
  (
    await db.query<Turn>(
      `select r.id, a.host_id, e.path, r.session_id, r.status,
              (select c.body from task_comments c where c.run_id = r.id and c.source = 'session') as said
         from runs r join run_attempts a on a.run_id = r.id and a.generation = r.generation join executors_running e using (session_id)
        where r.task_id = $1 and r.started_at is not null order by r.id desc limit 1`,
      [taskId],
    )
  ).rows[0];

/** A task that the server has taken; the other may take some before. */
async function taskAt(server: RealServer, script: string): Promise<{ taskId: string; turn: Turn }> {
  const [{ id: agentId, workspaceId }] = staff.agents as [Staff['agents'][0]];
  for (let attempt = 0; attempt < 20; attempt++) {
    const { id: taskId } = await fleet.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
      title: 'work',
      description: script,
      assignee_agent_instance_id: agentId,
    });
    const turn = await waitFor(() => newestOf(taskId), 20_000, 'a turn to begin');
    if (turn.host_id === hostIdOf(server)) return { taskId, turn };
    await fleet.must(`PATCH /tasks/${taskId}`, { state: 'cancelled' });
  }
  throw new Error('the server takes nothing');
}

const finished = (taskId: string, after: string): Promise<Turn> =>
  waitFor(
    async () => {
      const turn = await newestOf(taskId);
      return turn !== undefined && turn.id > after && turn.status === 'completed' && turn;
    },
    20_000,
    'the work to be done elsewhere',
  );

describe('a host that does not come back', () => {
  it('holds its tasks until somebody starts them fresh: then another goes on with them in a folder of its own', async () => {
    const [gone, other] = fleet.servers as [RealServer, RealServer];
    const [workspaceId] = staff.workspaces as [string];
    const cut = await taskAt(gone, mockScript({ say: 'long' }, { sleep_ms: 120_000, when: { turn: [1] } }, { say: 'done after all' }));
    const rested = await taskAt(gone, mockScript({ say: 'quick' }));
    await waitFor(async () => (await newestOf(rested.taskId))!.status === 'completed', 20_000, 'the quick turn to end');
    await gone.end('SIGKILL');
    const item = await waitFor(
      async () =>
        (await fleet.all<{ id: string; kind: string }>(`GET /workspaces/${workspaceId}/inbox`)).find(
          (one) => one.kind === 'runs_interrupted',
        ),
      5_000 * LEASE_SEC,
      'the other to settle what it held',
    );
    const fixed = await fleet.must<{ queued_runs: { waiting_on: string }[] }>(
      `POST /workspaces/${workspaceId}/inbox/items/${item.id}/dismiss`,
      {},
    );
    expect(fixed.queued_runs).toMatchObject([{ waiting_on: 'host_offline' }]);
    for (const { taskId, turn } of [cut, rested]) {
      await fleet.must(`POST /tasks/${taskId}/sessions/${turn.session_id}/start-fresh`, {});
      const again = await finished(taskId, turn.id);
      expect(again).toMatchObject({ host_id: hostIdOf(other), session_id: turn.session_id });
      expect(again.path.startsWith(other.workDir)).toBe(true);
      expect(turn.path.startsWith(gone.workDir)).toBe(true);
    }
    // It comes back after all: what it had is not its own any more.
    await gone.boot();
    await fleet.allSeen();
    expect((await newestOf(cut.taskId))!.host_id).toBe(hostIdOf(other));
    expect(await violations(db, fleet, staff)).toEqual([]);
  });
});
