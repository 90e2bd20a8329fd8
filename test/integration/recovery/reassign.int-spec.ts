import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { openByEvents, PAYLOAD, RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let ws: string;
let ada: string;
let eve: string;
beforeAll(async () => {
  office = await RecoveryOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  ws = await office.workspace({ agent_failure_threshold: 10 });
  [ada, eve] = [await office.agent(ws, { name: 'Ada' }), await office.agent(ws, { name: 'Eve' })];
});

const runsOf = (agentId: string) =>
  office.rows<{ id: string; status: string; cancel_reason: string | null }>(
    `select id, status, cancel_reason from runs where agent_id = $1 order by id`,
    agentId,
  );

interface Case {
  readonly state: string;
  /** Brings Ada's run of the task into that state; what is left to settle after the reassignment. */
  readonly bring: (taskId: string) => Promise<ClaimedRun | null>;
  readonly end: 'cancelled' | 'failed';
  readonly session: string | null;
  readonly failures: number;
}

const CASES: readonly Case[] = [
  { state: 'queued', bring: async () => null, end: 'cancelled', session: null, failures: 0 },
  { state: 'starting', bring: async () => (await office.claim(ws)).claimed[0]!, end: 'cancelled', session: 'CANCELLED', failures: 0 },
  { state: 'running', bring: async (taskId) => office.startPair(ws, ada, taskId), end: 'cancelled', session: 'COMPLETED', failures: 0 },
  {
    state: 'waiting for a retry',
    bring: async (taskId) => {
      const run = await office.startPair(ws, ada, taskId);
      await office.rows(
        `update runs set status = 'scheduled_retry', retry_count = 1, due_at = now() + interval '1 hour',
                lease_host_id = null, lease_boot_id = null, lease_expires_at = null where id = $1`,
        run.runId,
      );
      await office.rows(`update task_sessions set state = 'IDLE' where id = $1`, run.sessionId);
      return null;
    },
    end: 'cancelled',
    session: 'COMPLETED',
    failures: 0,
  },
  {
    state: 'failed a moment before',
    bring: async (taskId) => {
      await office.fail(await office.startPair(ws, ada, taskId));
      return null;
    },
    end: 'failed',
    session: 'COMPLETED',
    failures: 1,
  },
];

describe('a task that is given to somebody else', () => {
  it.each(CASES)('while the old run is $state: the old ends $end, the new is never touched', async ({ bring, end, session, failures }) => {
    const taskId = await office.task(ws, { assignee_agent_instance_id: ada });
    const left = await bring(taskId);
    await office.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: eve });
    // The folder is the old agent's until its process is gone; the new run is queued meanwhile.
    expect((await runsOf(eve)).map(({ status }) => status)).toEqual(['queued']);
    // Whatever the old agent answers now, an error or a success, it has been stopped.
    expect(left === null ? 'cancelled' : await office.fail(left)).toBe('cancelled');

    const [old, ...others] = await runsOf(ada);
    expect(others).toEqual([]);
    expect([old!.status, old!.cancel_reason]).toEqual([end, end === 'cancelled' ? 'assignee_changed' : null]);
    const sessions = await office.rows<{ state: string }>(`select state from task_sessions where agent_id = $1`, ada);
    expect(sessions.map(({ state }) => state)).toEqual(session === null ? [] : [session]);
    expect(await office.agentNow(ada)).toMatchObject({ consecutive_failures: failures, open_failures: 0, pause_reason: null });
    expect(await office.inbox(ws)).toEqual([]);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);

    const [fresh] = await office.start(ws);
    expect(fresh).toMatchObject({ agentId: eve, taskId, reason: 'task_assigned' });
    expect(await office.row(`select stop_requested_at from runs where id = $1`, fresh!.runId)).toEqual({ stop_requested_at: null });
    expect(await office.complete(fresh!)).toBe('completed');
    expect(await office.agentNow(eve)).toMatchObject({ consecutive_failures: 0 });
  });

  it('wakes each of them again, however often it goes back and forth', async () => {
    const taskId = await office.task(ws, { assignee_agent_instance_id: ada });
    for (const agent of [eve, ada]) await office.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: agent });
    expect((await runsOf(ada)).map(({ status }) => status)).toEqual(['cancelled', 'queued']);
    expect((await runsOf(eve)).map(({ status }) => status)).toEqual(['cancelled']);
  });

  it('leaves the pause of the old agent and its list as they are', async () => {
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: 1 });
    const { taskId } = await office.failedTask(ws, ada);
    const [before] = await office.inbox(ws);
    await office.must(`PATCH /tasks/${taskId}`, { assignee_agent_instance_id: eve });
    expect(await office.inbox(ws)).toEqual([before]);
    expect(await office.agentNow(ada)).toMatchObject({ status: 'paused', consecutive_failures: 1 });
  });
});

describe('the threshold', () => {
  const failTimes = async (agentId: string, times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await office.failedTask(ws, agentId);
  };
  const standing = async (agentId: string) => {
    const { status, consecutive_failures } = await office.agentNow(agentId);
    return [status, consecutive_failures];
  };

  it('of one pauses at the first failure, whose own item never shows', async () => {
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: 1 });
    const { runId } = await office.failedTask(ws, ada);
    expect((await office.inbox(ws)).map(({ kind }) => kind)).toEqual(['agent_paused_after_failures']);
    expect((await office.told(ws)).some(({ item_id }) => item_id === runId)).toBe(false);
  });

  it.each([
    ['is the workspace’s where the agent has none', null, 3],
    ['of the agent counts where it is higher', 4, 4],
    ['of the agent counts where it is lower', 2, 2],
  ] as const)('%s', async (_rule, own, pausesAt) => {
    await office.must(`PATCH /workspaces/${ws}/settings`, { agent_failure_threshold: 3 });
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: own });
    await failTimes(ada, pausesAt - 1);
    expect(await standing(ada)).toEqual(['idle', pausesAt - 1]);
    await failTimes(ada, 1);
    expect(await standing(ada)).toEqual(['paused', pausesAt]);
  });

  it('that is lowered at the edge acts at the next failure, not before', async () => {
    await failTimes(ada, 3);
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: 2 });
    expect(await standing(ada)).toEqual(['idle', 3]);
    await failTimes(ada, 1);
    expect(await standing(ada)).toEqual(['paused', 4]);
    expect((await office.inbox(ws))[0]!.task_ids).toHaveLength(4);
  });

  it('pauses again at once after an unpause without a fix', async () => {
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: 2 });
    await failTimes(ada, 2);
    await office.must(`POST /agents/${ada}/unpause`);
    expect(await standing(ada)).toEqual(['idle', 2]);
    await failTimes(ada, 1);
    expect(await standing(ada)).toEqual(['paused', 3]);
    expect((await office.inbox(ws)).map(({ kind, task_ids }) => [kind, task_ids.length])).toEqual([['agent_paused_after_failures', 3]]);
  });

  it('begins anew after a success', async () => {
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: 2 });
    await failTimes(ada, 1);
    await office.complete(await office.startPair(ws, ada, await office.task(ws, { assignee_agent_instance_id: ada })));
    expect(await standing(ada)).toEqual(['idle', 0]);
    await failTimes(ada, 1);
    expect(await standing(ada)).toEqual(['idle', 1]);
  });

  it('counts failures on several tasks at the same moment once each', async () => {
    await office.must(`PATCH /agents/${ada}`, { failure_threshold: 5 });
    for (let n = 0; n < 5; n++) await office.task(ws, { assignee_agent_instance_id: ada });
    const runs = await office.start(ws);
    await Promise.all(runs.map((run) => office.fail(run)));
    expect(await standing(ada)).toEqual(['paused', 5]);
    const items = await office.inbox(ws);
    expect(items.map(({ kind, task_ids }) => [kind, task_ids.length])).toEqual([['agent_paused_after_failures', 5]]);
    expect([...openByEvents(await office.told(ws)).keys()]).toEqual([items[0]!.id]);
  });
});

describe('stopping a workspace', () => {
  it('stops what runs, as cancelled and uncounted, claims nothing until it is started, and says who did it', async () => {
    const tasks = [await office.task(ws, { assignee_agent_instance_id: ada }), await office.task(ws, { assignee_agent_instance_id: eve })];
    const [run] = (await office.claim(ws, 1)).claimed;
    const stopped = await office.ask(`POST /workspaces/${ws}/stop`);
    const { user } = await office.must<{ user: { id: string } }>('GET /me');
    expect([stopped.status, stopped.body]).toEqual([
      202,
      { workspace_id: ws, stopped_at: expect.any(String) as string, stopped_by: user.id, stopping_runs: 1 },
    ]);
    expect((await office.ask(`POST /workspaces/${ws}/stop`)).body).toMatchObject({
      stopped_at: stopped.body['stopped_at'],
      stopping_runs: 0,
    });
    expect(await office.fail(run!)).toBe('cancelled');
    expect(await office.row(`select status, cancel_reason from runs where id = $1`, run!.runId)).toEqual({
      status: 'cancelled',
      cancel_reason: 'workspace_stopped',
    });
    expect(await office.count(ws)).toBe(0);
    expect((await office.claim(ws)).claimed).toEqual([]);
    const { items } = await office.must<{ items: { waiting_on: string | null }[] }>(`GET /workspaces/${ws}/runs?status=queued`);
    expect(items.map(({ waiting_on }) => waiting_on)).toEqual(['workspace_stopped']);
    expect(await office.must(`GET /workspaces/${ws}`)).toMatchObject({ stopped_at: stopped.body['stopped_at'] });

    expect((await office.ask(`POST /workspaces/${ws}/start`)).body).toMatchObject({ stopped_at: null, stopped_by: null });
    await office.must(`POST /workspaces/${ws}/start`);
    expect((await office.claim(ws)).claimed).toHaveLength(1);
    expect(tasks).toHaveLength(2);
    const told = await office.rows<{ payload: unknown }>(
      `select payload from office_events where workspace_id = $1 and action = 'office.workspace.updated' order by seq`,
      ws,
    );
    expect(told.map(({ payload }) => payload)).toEqual([
      { workspace_id: ws, stopped_at: stopped.body['stopped_at'], by: user.id },
      { workspace_id: ws, stopped_at: null, by: user.id },
    ]);
  });
});

it('the payload is what the agent sent', async () => {
  const { runId } = await office.failedTask(ws, ada);
  expect(await office.must(`GET /runs/${runId}`)).toMatchObject({ error_message: PAYLOAD });
});
