import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aPerson, aWorkspace } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let member: SomePerson;
let stranger: SomePerson;
let workspaceId: string;
let agentId: string;
let taskId: string;

beforeAll(async () => {
  office = await openRooms();
  member = await aPerson(office);
  stranger = await aPerson(office);
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office, [[member, 'member']]);
  agentId = await anAgent(office, workspaceId);
  taskId = await aTask(office, workspaceId);
});
afterAll(() => office.close());

async function aSession(state: string, about: { taskless?: boolean; error?: string } = {}): Promise<string> {
  const id = newId();
  await office.rows(
    `insert into task_sessions (id, workspace_id, agent_id, task_id, adapter, state, acp_session_id, error_message, turns)
     values ($1, $2, $3, $4, 'mock', $5, 'acp-1', $6, 2)`,
    [id, workspaceId, agentId, about.taskless ? null : taskId, state, about.error ?? null],
  );
  return id;
}
const ask = (route: string, token = member.token) => office.ask(route, { token });

it('a stranger is told of no session', async () => {
  const id = await aSession('IDLE');
  expect((await ask(`GET /api/v1/sessions/${id}`, stranger.token)).status).toBe(404);
  expect((await ask(`GET /api/v1/sessions/${newId()}`)).status).toBe(404);
  expect((await ask('GET /api/v1/sessions/x')).status).toBe(404);
});

it('a session of a deleted task is gone with it', async () => {
  const id = await aSession('IDLE');
  await office.ask(`DELETE /api/v1/tasks/${taskId}`, { token: office.adminToken });
  expect((await ask(`GET /api/v1/sessions/${id}`)).status).toBe(404);
});

it('shows a session with where it works and what failed', async () => {
  const id = await aSession('FAILED', { error: '{"code":-32603}' });
  const hostId = newId();
  await office.rows(`insert into hosts (id, boot_id, name, max_executions) values ($1, $2, 'h', 8)`, [hostId, newId()]);
  await office.rows(`insert into executors_running (session_id, workspace_id, task_id, host_id, path) values ($1, $2, $3, $4, '/w/1')`, [
    id,
    workspaceId,
    taskId,
    hostId,
  ]);
  const { status, body } = await ask(`GET /api/v1/sessions/${id}`);
  expect(status).toBe(200);
  expect(body).toEqual({
    id,
    task_id: taskId,
    agent_id: agentId,
    state: 'FAILED',
    live: false,
    acp_session_id: 'acp-1',
    executor: { host_id: hostId, path: '/w/1', branch: null },
    error_message: '{"code":-32603}',
    turns: 2,
    usage: null,
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: expect.stringMatching(/\.\d{3}Z$/),
  });
});

it('shows one without a task and without a place', async () => {
  expect((await ask(`GET /api/v1/sessions/${await aSession('RUNNING', { taskless: true })}`)).body).toMatchObject({
    task_id: null,
    executor: null,
    live: true,
  });
});

it('lists those of a task, the oldest first, page by page', async () => {
  const ids = [await aSession('COMPLETED'), await aSession('CANCELLED'), await aSession('IDLE')];
  const first = (await ask(`GET /api/v1/tasks/${taskId}/sessions?limit=2`)).body as { items: { id: string }[]; next_cursor: string };
  const second = (await ask(`GET /api/v1/tasks/${taskId}/sessions?limit=2&cursor=${first.next_cursor}`)).body as typeof first;
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
  expect(second.next_cursor).toBeNull();
});

it('the task shows them, the newest first', async () => {
  const old = await aSession('COMPLETED');
  const now = await aSession('RUNNING');
  const expected = [
    { id: now, agent_id: agentId, state: 'RUNNING', live: true },
    { id: old, agent_id: agentId, state: 'COMPLETED', live: false },
  ];
  expect((await ask(`GET /api/v1/tasks/${taskId}`)).body['sessions']).toEqual(expected);
  const { items } = (await ask(`GET /api/v1/workspaces/${workspaceId}/tasks`)).body as { items: { sessions: unknown }[] };
  expect(items.map(({ sessions }) => sessions)).toEqual([expected]);
});
