import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { mockScript, RealServer, waitFor } from '../support/real-server.js';

/** Agents that run when the server is killed, in each of two workspaces. */
const MANY = process.env['OFFICE_FAULTS'] === 'full' ? 20 : 5;
const LONG_MS = 90_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let server: RealServer;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openPool(database.url, 2);
  server = await RealServer.start({ databaseUrl: database.url, env: { OFFICE_MAX_EXECUTIONS: String(2 * MANY) } });
});
afterAll(async () => {
  await server?.dispose();
  await db?.end();
  await database?.drop();
});

interface Run {
  readonly id: string;
  readonly status: string;
  readonly reason: string;
  readonly session_id: string;
}
interface Session {
  readonly id: string;
  readonly state: string;
  readonly acp_session_id: string;
  readonly turns: number;
  readonly executor: { readonly host_id: string; readonly path: string };
}
interface Item {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly task_ids: readonly string[];
}

const restart = async (): Promise<void> => {
  await server.end('SIGKILL');
  await server.boot();
};
const workspace = async (settings: object = {}): Promise<string> => {
  const { id } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
  await server.must(`PATCH /workspaces/${id}/settings`, settings);
  return id;
};
const hire = async (ws: string, name: string): Promise<string> =>
  (await server.must<{ id: string }>(`POST /workspaces/${ws}/agents`, { name, role: 'worker', adapter: 'mock' })).id;
const give = async (ws: string, agent: string, ...steps: object[]): Promise<string> =>
  (
    await server.must<{ id: string }>(`POST /workspaces/${ws}/tasks`, {
      title: 'Mend the door',
      description: mockScript(...steps),
      assignee_agent_instance_id: agent,
    })
  ).id;
const sessionOf = async (task: string): Promise<Session | undefined> =>
  (await server.must<{ items: Session[] }>(`GET /tasks/${task}/sessions`)).items[0];
const inState = (task: string, state: string, turns: number): Promise<Session> =>
  waitFor(
    async () => {
      const session = await sessionOf(task);
      return session?.state === state && session.turns === turns && session;
    },
    LONG_MS,
    `the session to be ${state} in its turn ${turns}`,
  );
const eventsOf = async (run: string): Promise<string[]> =>
  (await server.must<{ items: { event_type: string }[] }>(`GET /runs/${run}/events`)).items.map(({ event_type }) => event_type);
const inboxOf = async (ws: string): Promise<Item[]> => (await server.must<{ items: Item[] }>(`GET /workspaces/${ws}/inbox`)).items;

const first = { when: { turn: [1] } };
const second = { when: { turn: [2] } };
const FAILS = { fail: { code: -32603, message: 'Internal error', data: { message: 'model gone' } }, ...first };

describe('a session that failed before a restart', () => {
  it('resumes in the same place and the same conversation', async () => {
    const ws = await workspace();
    const task = await give(ws, await hire(ws, 'Ada'), { say: 'begun', ...first }, FAILS, { say: 'continued', ...second });
    const before = await inState(task, 'FAILED', 1);
    await restart();
    expect(await sessionOf(task)).toEqual(before);
    expect(await inboxOf(ws)).toHaveLength(1);
    const resumed = await server.must<{ run_id: string }>(`POST /tasks/${task}/sessions/${before.id}/resume`);
    const after = await inState(task, 'IDLE', 2);
    // The mock knows a conversation only by its id and its folder: with either of them another, it would have begun a new one.
    expect([after.id, after.acp_session_id, after.executor]).toEqual([before.id, before.acp_session_id, before.executor]);
    expect(await eventsOf(resumed.run_id)).not.toContain('session.load_failed');
    expect(await server.must(`GET /runs/${resumed.run_id}`)).toMatchObject({ status: 'completed', reason: 'manual_resume_after_failure' });
    expect(await inboxOf(ws)).toEqual([]);
  });

  it('falls back to a new conversation, once and visibly, when its agent has lost the old one', async () => {
    const ws = await workspace();
    const lost = { fail_load: { code: -32002, message: 'no such session' }, ...second };
    const task = await give(ws, await hire(ws, 'Ada'), { say: 'begun', ...first }, FAILS, lost, { say: 'continued', ...second });
    const before = await inState(task, 'FAILED', 1);
    await restart();
    const resumed = await server.must<{ run_id: string }>(`POST /tasks/${task}/sessions/${before.id}/resume`);
    const after = await inState(task, 'IDLE', 2);
    expect([after.id, after.executor]).toEqual([before.id, before.executor]);
    expect(after.acp_session_id).not.toBe(before.acp_session_id);
    expect((await eventsOf(resumed.run_id)).filter((event) => event === 'session.load_failed')).toHaveLength(1);
    const { rows } = await db.query<{ history: string[] }>(`select acp_session_history as history from task_sessions where id = $1`, [
      before.id,
    ]);
    expect(rows[0]!.history).toEqual([before.acp_session_id]);
  });
});

describe(`a restart while ${MANY} agents run`, () => {
  it('counts nothing, pauses nobody, and goes on: with one press, or with none where that is wanted', { timeout: 300_000 }, async () => {
    const [asks, auto] = [
      await workspace({ agent_failure_threshold: 1 }),
      await workspace({ agent_failure_threshold: 1, resume_interrupted: 'auto' }),
    ];
    const tasks = new Map<string, string[]>([
      [asks, []],
      [auto, []],
    ]);
    for (const [ws, its] of tasks) {
      for (let n = 0; n < MANY; n++) {
        its.push(
          await give(
            ws,
            await hire(ws, `Agent ${n}`),
            { say: 'begun', ...first },
            { hang: true, ...first },
            { say: 'continued', ...second },
          ),
        );
      }
    }
    const all = [...tasks.values()].flat();
    const before = await Promise.all(all.map((task) => inState(task, 'RUNNING', 1)));
    await restart();

    const items = await inboxOf(asks);
    expect(items.map(({ kind }) => kind)).toEqual(['runs_interrupted']);
    expect(items[0]!.task_ids.toSorted()).toEqual(tasks.get(asks)!.toSorted());
    for (const task of tasks.get(asks)!) expect(await sessionOf(task)).toMatchObject({ state: 'FAILED' });
    for (const ws of tasks.keys()) {
      const { items: agents } = await server.must<{ items: { consecutive_failures: number; pause_reason: string | null }[] }>(
        `GET /workspaces/${ws}/agents`,
      );
      expect(agents.every((agent) => agent.consecutive_failures === 0 && agent.pause_reason === null)).toBe(true);
    }
    const pressed = await server.must<{ queued_runs: unknown[]; skipped: unknown[] }>(
      `POST /workspaces/${asks}/inbox/items/${items[0]!.id}/dismiss`,
    );
    expect(pressed.queued_runs).toHaveLength(MANY);
    expect(pressed.skipped).toEqual([]);

    const after = await Promise.all(all.map((task) => inState(task, 'IDLE', 2)));
    expect(after.map(({ id, acp_session_id, executor }) => [id, acp_session_id, executor])).toEqual(
      before.map(({ id, acp_session_id, executor }) => [id, acp_session_id, executor]),
    );
    for (const [ws, reason] of [
      [asks, 'manual_resume_after_failure'],
      [auto, 'resumed_after_interruption'],
    ] as const) {
      expect(await inboxOf(ws)).toEqual([]);
      const { items: runs } = await server.must<{ items: Run[] }>(`GET /workspaces/${ws}/runs?limit=200`);
      expect(runs.filter(({ status }) => status === 'completed').map((run) => run.reason)).toEqual(
        Array.from({ length: MANY }, () => reason),
      );
      expect(runs).toHaveLength(2 * MANY);
    }
  });
});
