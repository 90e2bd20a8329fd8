import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { mockScript, RealServer, waitFor } from '../support/real-server.js';

const WAIT_MS = 20_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
/** Two servers on one database; the agents run on the first, whose second is as full as it can be: it has no mock agent. */
let owner: RealServer;
let other: RealServer;
let ws: string;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url, 2);
  const env = { OFFICE_ADMIN_TOKEN: 'permissions-admin-token-0001', OFFICE_FIRST_EVENT_TIMEOUT_SEC: '2', OFFICE_MAX_EXECUTIONS: '1' };
  owner = await RealServer.start({ databaseUrl: database.url, env });
  ({ id: ws } = await owner.must<{ id: string }>('POST /workspaces', { name: 'Acme' }));
});
afterAll(async () => {
  await other?.dispose();
  await owner?.dispose();
  await db?.end();
  await database?.drop();
});

interface Item {
  readonly id: string;
  readonly kind: string;
  readonly task_ids: readonly string[];
}
interface Run {
  readonly id: string;
  readonly status: string;
  readonly waiting_on: string | null;
}

const ASK = { ask_permission: { title: 'rm -rf build', kind: 'execute' } };

async function give(policy: string, ...steps: object[]): Promise<string> {
  const agent = await owner.must<{ id: string }>(`POST /workspaces/${ws}/agents`, {
    name: 'Ada',
    role: 'worker',
    adapter: 'mock',
    adapter_config: { permission_policy: policy },
  });
  const task = await owner.must<{ id: string }>(`POST /workspaces/${ws}/tasks`, {
    title: 'Tidy up',
    description: mockScript(...steps),
    assignee_agent_instance_id: agent.id,
  });
  return task.id;
}
const item = (taskId: string): Promise<Item> =>
  waitFor(
    async () => {
      const { items } = await owner.must<{ items: Item[] }>(`GET /workspaces/${ws}/inbox`);
      return items.find(({ kind, task_ids }) => kind === 'permission_request' && task_ids.includes(taskId));
    },
    WAIT_MS,
    'the request in the inbox',
  );
const runOf = async (taskId: string): Promise<Run> => {
  const { items } = await owner.must<{ items: Run[] }>(`GET /workspaces/${ws}/runs?task_id=${taskId}`);
  return items[0]!;
};
const ended = (taskId: string): Promise<Run> =>
  waitFor(
    async () => {
      const run = await runOf(taskId);
      return !['queued', 'scheduled_retry', 'running'].includes(run.status) && run;
    },
    WAIT_MS,
    'the end of the run',
  );
const open = async (): Promise<number> => (await owner.must<{ open: number }>(`GET /workspaces/${ws}/inbox/count`)).open;
const said = async (taskId: string): Promise<string[]> =>
  (await owner.must<{ items: { body: string }[] }>(`GET /tasks/${taskId}/comments`)).items.map(({ body }) => body);

describe('an agent that asks permission', () => {
  it('waits past every silence, its slot taken, until a person answers, here or at another server', async () => {
    const asking = await give('ask', ASK, { say: 'gone on' });
    const { id } = await item(asking);
    const behind = await give('ask', { say: 'hello' });
    await waitFor(async () => (await runOf(behind)).waiting_on === 'host_at_capacity', WAIT_MS, 'the other run to wait for the slot');
    // Longer than it may say nothing.
    await waitFor(
      async () =>
        (await db.query<{ over: boolean }>(`select now() - asked_at > interval '3 s' as over from permission_requests where id = $1`, [id]))
          .rows[0]!.over,
      WAIT_MS,
      'the silence to be over',
    );
    expect(await runOf(asking)).toMatchObject({ status: 'running' });

    other = await RealServer.start({
      databaseUrl: database.url,
      env: { OFFICE_ADMIN_TOKEN: 'permissions-admin-token-0001', OFFICE_MAX_EXECUTIONS: '1' },
    });
    const answered = performance.now();
    expect(await other.must(`POST /workspaces/${ws}/inbox/items/${id}/answer`, { decision: 'allow_once' })).toMatchObject({
      decision: 'allow_once',
    });
    expect(await ended(asking)).toMatchObject({ status: 'completed' });
    expect(performance.now() - answered).toBeLessThan(5_000);
    expect((await said(asking)).at(-1)).toContain('gone on');
    expect(await ended(behind)).toMatchObject({ status: 'completed' });
    await other.dispose();
  });

  it('is denied when nobody answers in time', async () => {
    const asking = await give('ask', ASK, { say: 'gone on' });
    const { id } = await item(asking);
    await db.query(`update permission_requests set expires_at = now() where id = $1`, [id]);
    expect(await ended(asking)).toMatchObject({ status: 'completed' });
    const { rows } = await db.query(`select decision, decided_by from permission_requests where id = $1`, [id]);
    expect(rows).toEqual([{ decision: 'deny', decided_by: null }]);
    expect(await open()).toBe(0);
  });

  it('is not waited for any more when its run is cancelled', async () => {
    const asking = await give('ask', ASK, { say: 'gone on' });
    const { id } = await item(asking);
    await owner.must(`POST /runs/${(await runOf(asking)).id}/cancel`);
    expect(await ended(asking)).toMatchObject({ status: 'cancelled' });
    expect(await open()).toBe(0);
    expect(await owner.call(`POST /workspaces/${ws}/inbox/items/${id}/answer`, { decision: 'allow_once' })).toMatchObject({
      status: 409,
      body: { code: 'permission_gone' },
    });
  });

  it('is not asked about what an admin has allowed it for good', async () => {
    const first = await give('ask', ASK, ASK, { say: 'gone on' });
    const { id } = await item(first);
    await owner.must(`POST /workspaces/${ws}/inbox/items/${id}/answer`, { decision: 'allow_always' });
    expect(await ended(first)).toMatchObject({ status: 'completed' });
    const { items } = await owner.must<{ items: { event_type: string; payload: { decision?: string } }[] }>(
      `GET /runs/${(await runOf(first)).id}/events`,
    );
    expect(items.filter(({ event_type }) => event_type === 'permission.requested')).toHaveLength(1);
    expect(items.filter(({ event_type }) => event_type === 'permission.answered')).toHaveLength(2);
  });

  it.each(['allow', 'deny'])('bothers nobody under the policy %s', async (policy) => {
    const asking = await give(policy, ASK, { say: 'gone on' });
    expect(await ended(asking)).toMatchObject({ status: 'completed' });
    const { rows } = await db.query(`select q.id from permission_requests q join runs r on r.id = q.run_id where r.task_id = $1`, [asking]);
    expect(rows).toEqual([]);
  });

  it('goes with a server that dies, whose runs are interrupted', async () => {
    const asking = await give('ask', ASK);
    const { id } = await item(asking);
    await owner.end('SIGKILL');
    await owner.boot();
    expect(await ended(asking)).toMatchObject({ status: 'failed' });
    const { rows } = await db.query(`select decision, closed_at is not null as closed from permission_requests where id = $1`, [id]);
    expect(rows).toEqual([{ decision: null, closed: true }]);
  });
});
