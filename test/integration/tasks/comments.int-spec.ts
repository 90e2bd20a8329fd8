import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { CommentService } from '../../../src/tasks/comment.service.js';
import { aPerson, aWorkspace } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let member: SomePerson;
let workspaceId: string;
let ada: string;
let bob: string;
let taskId: string;

beforeAll(async () => {
  office = await openRooms();
  member = await aPerson(office, { name: 'Member' });
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office, [[member, 'member']]);
  ada = await anAgent(office, workspaceId, { name: 'Ada' });
  bob = await anAgent(office, workspaceId, { name: 'Bob' });
  taskId = await aTask(office, workspaceId, { assignee_agent_instance_id: ada });
  await office.told(workspaceId);
  office.taskReactions.calls.length = 0;
});
afterAll(() => office.close());

const say = (body: unknown, headers: Record<string, string> = {}) =>
  office.ask(`POST /api/v1/tasks/${taskId}/comments`, { token: member.token, body, headers });
const list = async (query = '') =>
  (await office.ask(`GET /api/v1/tasks/${taskId}/comments${query}`, { token: member.token })).body as {
    items: Record<string, unknown>[];
    next_cursor: string | null;
  };
const mentioned = () => office.taskReactions.calls.map(([, , comment]) => (comment as { mentionedAgentIds: string[] }).mentionedAgentIds);

describe('a comment of a person', () => {
  it.each<[string, unknown]>([
    ['nothing', { body: '' }],
    ['no body', {}],
    ['more than 64 KiB', { body: 'ä'.repeat(32_769) }],
    ['a NUL', { body: 'a\u0000' }],
    ['a lone surrogate', '{"body":"\\ud800"}'],
    ['a source of its own', { body: 'x', source: 'session' }],
    ['an interrupt in words', { body: 'x', interrupt: 'yes' }],
  ])('is refused with %s', async (_name, body) => {
    expect((await say(body)).status).toBe(400);
    expect([await office.told(workspaceId), office.taskReactions.calls, (await list()).items]).toEqual([[], [], []]);
  });

  it('is kept, told of once and handed to the rooms above', async () => {
    const { status, body } = await say({ body: 'é'.repeat(32_768) });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      task_id: taskId,
      author: { kind: 'user', id: member.id, name: 'Member' },
      source: 'user',
      run_id: null,
      body: 'é'.repeat(32_768),
    });
    expect((await list()).items).toEqual([body]);
    expect(await office.told(workspaceId)).toEqual([
      ['office.comment.created', { comment_id: body['id'], task_id: taskId, author: { kind: 'user', id: member.id } }],
    ]);
    expect(office.taskReactions.calls).toEqual([
      [
        'commented',
        { id: taskId, workspaceId, assigneeId: ada },
        { id: body['id'], interrupt: false, mentionedAgentIds: [] },
        { kind: 'user', id: member.id },
      ],
    ]);
  });

  it('mentions agents of the workspace, each once, and not the assignee again', async () => {
    await anAgent(office, await aWorkspace(office), { handle: 'elsewhere' });
    const gone = await anAgent(office, workspaceId, { handle: 'gone' });
    await office.ask(`DELETE /api/v1/agents/${gone}`, { token: office.adminToken });
    await say({ body: '@Bob, @bob and @ada: ask @nobody, @elsewhere, @gone; `@bob`' });
    expect(mentioned()).toEqual([[bob]]);
  });

  it('asks for an interruption', async () => {
    await say({ body: 'Stop!', interrupt: true });
    expect(office.taskReactions.calls[0]![2]).toMatchObject({ interrupt: true });
  });

  it('may be made twice with one key, and is one', async () => {
    const key = { 'idempotency-key': 'k' };
    const [first, second] = [await say({ body: 'x' }, key), await say({ body: 'x' }, key)];
    expect(second.body).toEqual(first.body);
    expect([(await list()).items.length, office.taskReactions.calls.length]).toEqual([1, 1]);
  });

  it('is rolled back when a reaction fails', async () => {
    office.taskReactions.during = () => Promise.reject(new Error('no'));
    expect((await say({ body: 'x' })).status).toBe(500);
    office.taskReactions.during = async () => undefined;
    expect([(await list()).items, await office.told(workspaceId)]).toEqual([[], []]);
  });

  it('may still be made on a closed task', async () => {
    await office.ask(`PATCH /api/v1/tasks/${taskId}`, { token: member.token, body: { state: 'done', archived: true } });
    expect((await say({ body: 'Thanks' })).status).toBe(201);
  });
});

it('the list goes through all, the oldest first, page by page', async () => {
  for (let n = 0; n < 5; n++) await say({ body: `C${n}` });
  const seen: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page = await list(`?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
    seen.push(...page.items.map(({ body }) => body));
    cursor = page.next_cursor;
  } while (cursor !== null);
  expect(seen).toEqual(['C0', 'C1', 'C2', 'C3', 'C4']);
});

describe("an agent's last message", () => {
  const add = (about: { taskId?: string; body?: string; workspaceId?: string } = {}) =>
    office.unitOfWork.run(workspaceId, (tx) =>
      office.app
        .get(CommentService, { strict: false })
        .addFromSession(tx, { workspaceId, taskId, agentId: ada, runId: newId(), body: '@bob look', ...about }),
    );

  it('is a comment of source session that wakes nobody', async () => {
    const id = await add();
    expect((await list()).items).toMatchObject([
      { id, source: 'session', author: { kind: 'agent', id: ada, name: 'Ada' }, body: '@bob look' },
    ]);
    expect(await office.told(workspaceId)).toEqual([
      ['office.comment.created', { comment_id: id, task_id: taskId, author: { kind: 'agent', id: ada } }],
    ]);
    expect(office.taskReactions.calls).toEqual([]);
  });

  it('is stored whatever it holds', async () => {
    await add({ body: 'a\u0000b\ud800c' });
    expect((await list()).items).toMatchObject([{ body: 'a\uFFFDb\uFFFDc' }]);
  });

  it.each(['', ' \n\t'])('is none when it says nothing (%j)', async (body) => {
    expect(await add({ body })).toBeNull();
    expect(await office.told(workspaceId)).toEqual([]);
  });

  it('is none on a task that was deleted, or is not of the workspace', async () => {
    const foreign = await aTask(office, await aWorkspace(office));
    expect(await add({ taskId: foreign })).toBeNull();
    await office.ask(`DELETE /api/v1/tasks/${taskId}`, { token: office.adminToken });
    await office.told(workspaceId);
    expect(await add()).toBeNull();
    expect(await office.told(workspaceId)).toEqual([]);
  });
});
