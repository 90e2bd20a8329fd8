import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, hostIdOf } from '../support/faults/fleet.js';
import { hire, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, mockScript, processesWith, waitFor } from '../support/real-server.js';

const TIMES = faults(50);

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
let staff: Staff;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url);
  // One starts agents, the other is only asked: whatever it says has to cross.
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 2 });
  await fleet.servers[1]!.must('POST /admin/drain', { deadline_sec: 0 });
  staff = await hire(fleet, { workspaces: 1, agents: 1 });
});
afterAll(async () => {
  await fleet?.dispose();
  await db?.end();
  await database?.drop();
});

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

describe(`what is said to one server and done by another, ${TIMES} times`, () => {
  it(
    'is done at once: a wake starts there, a cancel ends the process there',
    async () => {
      const desk = fleet.servers[1]!;
      const [{ id: agentId, workspaceId }] = staff.agents as [Staff['agents'][0]];
      const [starts, stops]: [number[], number[]] = [[], []];
      for (let n = 0; n < TIMES; n++) {
        const asked = performance.now();
        const { id: taskId } = await desk.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
          title: 'long',
          description: mockScript({ say: 'long' }, { sleep_ms: 60_000 }),
          assignee_agent_instance_id: agentId,
        });
        const run = await waitFor(
          async () => {
            const { rows } = await db.query<{ id: string; host: string; claimed: boolean }>(
              `select id, lease_host_id as host from runs where task_id = $1 and status = 'running'`,
              [taskId],
            );
            return rows[0];
          },
          10_000,
          'the claim',
        );
        starts.push(performance.now() - asked);
        expect(run.host).toBe(hostIdOf(fleet.servers[0]!));
        await waitFor(
          async () => (await db.query(`select from runs where id = $1 and started_at is not null`, [run.id])).rowCount === 1,
          15_000,
          'the turn to begin',
        );
        const cancelled = performance.now();
        expect(await desk.must(`POST /runs/${run.id}/cancel`, {})).toMatchObject({ run_id: run.id, status: 'running' });
        await waitFor(() => processesWith(`OFFICE_RUN_ID=${run.id}`).length === 0, 5_000, 'the process to be gone');
        stops.push(performance.now() - cancelled);
        await waitFor(
          async () => (await db.query(`select from runs where id = $1 and status = 'cancelled'`, [run.id])).rowCount === 1,
          5_000,
          'the run to be cancelled',
        );
      }
      process.stdout.write(`across servers: ${JSON.stringify({ claimed_ms: median(starts), gone_ms: median(stops) })}\n`);
      // By the poll alone it would be half a second in the middle.
      expect(median(starts)).toBeLessThan(400);
      expect(median(stops)).toBeLessThan(400);
    },
    60_000 + TIMES * 20_000,
  );

  it('stops of a workspace and reassignments cross, too', async () => {
    const desk = fleet.servers[1]!;
    const [{ id: agentId, workspaceId }] = staff.agents as [Staff['agents'][0]];
    const begun = async (taskId: string): Promise<string> =>
      waitFor(
        async () =>
          (
            await db.query<{ id: string }>(
              `select id from runs where task_id = $1 and status = 'running' and started_at is not null and stop_requested_at is null`,
              [taskId],
            )
          ).rows[0]?.id,
        15_000,
        'the turn to begin',
      );
    const { id: taskId } = await desk.must<{ id: string }>(`POST /workspaces/${workspaceId}/tasks`, {
      title: 'long',
      description: mockScript({ say: 'long' }, { sleep_ms: 60_000 }),
      assignee_agent_instance_id: agentId,
    });
    const first = await begun(taskId);
    await desk.must(`POST /workspaces/${workspaceId}/stop`, {});
    await waitFor(() => processesWith(`OFFICE_RUN_ID=${first}`).length === 0, 5_000, 'the process to be gone');
    await desk.must(`POST /workspaces/${workspaceId}/start`, {});
    await desk.must(`POST /agents/${agentId}/runs`, { task_id: taskId });
    const second = await begun(taskId);
    await desk.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: null });
    await waitFor(() => processesWith(`OFFICE_RUN_ID=${second}`).length === 0, 5_000, 'the process to be gone');
    const { rows } = await db.query(`select id, status, cancel_reason from runs where task_id = $1 order by id`, [taskId]);
    await waitFor(
      async () => (await db.query(`select from runs where task_id = $1 and status = 'cancelled'`, [taskId])).rowCount === rows.length,
      5_000,
      'both to be cancelled',
    );
  });
});
