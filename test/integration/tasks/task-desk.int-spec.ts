import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aPerson, aWorkspace } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let member: SomePerson;
let stranger: SomePerson;
let workspaceId: string;

beforeAll(async () => {
  office = await openRooms();
  member = await aPerson(office, { name: 'Member' });
  stranger = await aPerson(office, { name: 'Stranger' });
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office, [[member, 'member']]);
  office.taskReactions.calls.length = 0;
  await office.told(workspaceId);
});
afterAll(() => office.close());

const create = (body: unknown, headers: Record<string, string> = {}) =>
  office.ask(`POST /api/v1/workspaces/${workspaceId}/tasks`, { token: member.token, body, headers });
const get = (id: string) => office.ask(`GET /api/v1/tasks/${id}`, { token: member.token });
const count = async () =>
  (await office.rows<{ n: number }>(`select count(*)::int as n from tasks where workspace_id = $1`, [workspaceId]))[0]!.n;
const lastNumber = async () =>
  (await office.rows<{ n: number }>(`select last_task_number as n from workspaces where id = $1`, [workspaceId]))[0]!.n;
const me = () => ({ kind: 'user', id: member.id });

describe('a stranger', () => {
  it('is told of no task, whatever the route', async () => {
    const id = await aTask(office, workspaceId);
    for (const route of [
      `GET /api/v1/workspaces/${workspaceId}/tasks`,
      `POST /api/v1/workspaces/${workspaceId}/tasks`,
      `GET /api/v1/tasks/${id}`,
      `PATCH /api/v1/tasks/${id}`,
      `DELETE /api/v1/tasks/${id}`,
      `GET /api/v1/tasks/${id}/comments`,
      `POST /api/v1/tasks/${id}/comments`,
      `GET /api/v1/tasks/${id}/sessions`,
    ]) {
      const answer = await office.ask(route, {
        token: stranger.token,
        ...(route.startsWith('GET') ? {} : { body: { title: 'x', body: 'x' } }),
      });
      expect([route, answer.status]).toEqual([route, 404]);
    }
  });
});

describe('making a task refuses', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['no title', { title: undefined }, 'title'],
    ['a blank title', { title: ' \n' }, 'title'],
    ['a title over 500 characters', { title: 'x'.repeat(501) }, 'title'],
    ['a description over 256 KiB', { description: 'ä'.repeat(131_073) }, 'description'],
    ['a NUL', { description: '\u0000' }, 'description'],
    ['a priority of 5', { priority: 5 }, 'priority'],
    ['a priority in words', { priority: 'high' }, 'priority'],
    ['a repository that is no id', { repository_id: 'doors' }, 'repository_id'],
    ['a project that is no id', { project_id: 'house' }, 'project_id'],
    ['a workflow that is no id', { workflow_id: 'board' }, 'workflow_id'],
    ['a state', { state: 'done' }, 'state'],
    ['an assignee that is no id', { assignee_agent_instance_id: 'ada' }, 'assignee_agent_instance_id'],
    ['blockers that are no ids', { blocked_by: ['x'] }, 'blocked_by'],
    ['more than 100 blockers', { blocked_by: Array.from({ length: 101 }, newId) }, 'blocked_by'],
  ])('%s', async (_name, about, path) => {
    const answer = await create({ title: 'x', ...about });
    expect([answer.status, answer.body['code']]).toEqual([400, 'validation_failed']);
    expect((answer.body['fields'] as { path: string }[]).map((field) => field.path)).toEqual([path]);
  });

  it.each(['assignee_agent_instance_id', 'parent_id', 'blocked_by'])("a stranger's id as %s", async (field) => {
    const elsewhere = await aWorkspace(office);
    const foreign = field === 'assignee_agent_instance_id' ? await anAgent(office, elsewhere) : await aTask(office, elsewhere);
    for (const id of [foreign, newId()]) {
      const answer = await create({ title: 'x', [field]: field === 'blocked_by' ? [id] : id });
      expect([answer.status, answer.body['code'], answer.body['id']]).toEqual([404, 'not_found', id]);
    }
    expect([await count(), await lastNumber()]).toEqual([0, 0]);
  });

  it('an archived assignee', async () => {
    const agent = await anAgent(office, workspaceId);
    await office.ask(`DELETE /api/v1/agents/${agent}`, { token: office.adminToken });
    const answer = await create({ title: 'x', assignee_agent_instance_id: agent });
    expect([answer.status, answer.body['code']]).toEqual([409, 'agent_archived']);
  });

  it('without using up a number or telling anybody', async () => {
    office.taskReactions.during = () => Promise.reject(new Error('no'));
    const agent = await anAgent(office, workspaceId);
    await office.told(workspaceId);
    expect((await create({ title: 'x', assignee_agent_instance_id: agent })).status).toBe(500);
    office.taskReactions.during = async () => undefined;
    expect([await count(), await lastNumber(), await office.told(workspaceId)]).toEqual([0, 0, []]);
    expect((await create({ title: 'y' })).body['identifier']).toMatch(/-1$/);
  });
});

describe('a new task', () => {
  it('stands at the first step, belongs to who made it, and is told of once', async () => {
    const { status, body } = await create({ title: 'Mend the door' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      workspace_id: workspaceId,
      identifier: expect.stringMatching(/^[A-Z]+-1$/),
      title: 'Mend the door',
      description: null,
      state: 'TODO',
      step: { id: expect.any(String), name: 'Work', kind: 'work' },
      priority: 0,
      assignee_agent_instance_id: null,
      parent_id: null,
      repository_id: null,
      usage: null,
      project_id: null,
      workflow_id: expect.any(String),
      blocked_by: [],
      sessions: [],
      archived: false,
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      updated_at: expect.any(String),
      created_by: { kind: 'user', id: member.id },
    });
    expect((await get(String(body['id']))).body).toEqual(body);
    expect((await office.told(workspaceId)).map(([action, payload]) => [action, payload['task_id']])).toEqual([
      ['office.task.updated', body['id']],
    ]);
    expect(office.taskReactions.calls).toEqual([]);
    expect(
      await office.rows(`select from_step_id, to_step_id, actor_kind, actor_id from task_step_transitions where task_id = $1`, [
        body['id'],
      ]),
    ).toEqual([{ from_step_id: null, to_step_id: (body['step'] as { id: string }).id, actor_kind: 'user', actor_id: member.id }]);
  });

  it('keeps everything it was given', async () => {
    const agent = await anAgent(office, workspaceId);
    const [parent, first, second] = [await aTask(office, workspaceId), await aTask(office, workspaceId), await aTask(office, workspaceId)];
    await office.told(workspaceId);
    const about = { title: '‮x 😀', description: 'é'.repeat(131_072), priority: 4, parent_id: parent, assignee_agent_instance_id: agent };
    const { body } = await create({ ...about, blocked_by: [second, first, first.toUpperCase()] });
    expect(body).toMatchObject(about);
    expect((body['blocked_by'] as { id: string }[]).map(({ id }) => id)).toEqual([first, second]);
    expect(office.taskReactions.calls).toEqual([['assigneeChanged', { id: body['id'], workspaceId, assigneeId: agent }, null, me()]]);
    expect((await office.told(workspaceId)).map(([action]) => action)).toEqual(['office.task.updated']);
  });

  it('may be asked for twice with one key, and is one', async () => {
    const key = { 'idempotency-key': 'k' };
    const [first, second] = [await create({ title: 'x' }, key), await create({ title: 'x' }, key)];
    expect(second.body).toEqual(first.body);
    expect((await create({ title: 'y' }, key)).body['code']).toBe('idempotency_key_reused');
    expect(await count()).toBe(1);
  });

  it('has a number without gaps, however many are made at once and whatever is refused meanwhile', async () => {
    const answers = await Promise.all([
      ...Array.from({ length: 50 }, (_, n) => create({ title: `T${n}` })),
      ...Array.from({ length: 10 }, () => create({ title: 'x', blocked_by: [newId()] })),
    ]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
    const numbers = await office.rows<{ number: number }>(`select number from tasks where workspace_id = $1 order by number`, [
      workspaceId,
    ]);
    expect(numbers.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    const prefix = String(answers[0]!.body['identifier']).split('-')[0];
    expect(
      await office.rows(`select 1 from tasks where workspace_id = $1 and identifier <> $2 || '-' || number`, [workspaceId, prefix]),
    ).toEqual([]);
  });
});

describe('the list', () => {
  const list = async (query = '') =>
    (await office.ask(`GET /api/v1/workspaces/${workspaceId}/tasks${query}`, { token: member.token })).body as {
      items: Record<string, unknown>[];
      next_cursor: string | null;
    };
  const titles = async (query: string) => (await list(query)).items.map(({ title }) => title);

  it('goes through all of them, the newest first, page by page, past numbers of two digits', async () => {
    for (let n = 1; n <= 12; n++) await aTask(office, workspaceId, { title: `T${n}` });
    await aTask(office, await aWorkspace(office), { title: 'foreign' });
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page = await list(`?limit=5${cursor ? `&cursor=${cursor}` : ''}`);
      seen.push(...page.items.map(({ title }) => title));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => `T${12 - n}`));
  });

  it('is narrowed by state, assignee, step, text and whether it is archived', async () => {
    const agent = await anAgent(office, workspaceId);
    const a = await aTask(office, workspaceId, { title: '100% sure', assignee_agent_instance_id: agent });
    const b = await aTask(office, workspaceId, { title: 'under_score' });
    const c = await aTask(office, workspaceId, { title: 'Old' });
    const change = (id: string, body: unknown) => office.ask(`PATCH /api/v1/tasks/${id}`, { token: member.token, body });
    await change(b, { state: 'done' });
    await change(c, { archived: true });
    const { body } = await get(a);
    const step = (body['step'] as { id: string }).id;

    expect(await titles('')).toEqual(['under_score', '100% sure']);
    expect(await titles('?archived=true')).toEqual(['Old']);
    expect(await titles('?state=done')).toEqual(['under_score']);
    expect(await titles('?state=TODO')).toEqual(['100% sure']);
    expect(await titles(`?assignee=${agent}`)).toEqual(['100% sure']);
    expect(await titles(`?step=${step}`)).toEqual(['100% sure']);
    expect(await titles('?q=SURE')).toEqual(['100% sure']);
    expect(await titles('?q=%25')).toEqual(['100% sure']);
    expect(await titles('?q=_')).toEqual(['under_score']);
    expect(await titles('?q=%5C')).toEqual([]);
    expect(await titles(`?q=${String(body['identifier']).toLowerCase()}`)).toEqual(['100% sure']);
    expect(await titles(`?state=todo&assignee=${newId()}`)).toEqual([]);
  });

  it('refuses what it does not know', async () => {
    for (const query of [
      '?state=open',
      '?assignee=me',
      '?project=x',
      '?limit=201',
      `?cursor=${Buffer.from('0').toString('base64url')}`,
      '?cursor=x',
      '?q=a%00b',
    ]) {
      expect([query, (await office.ask(`GET /api/v1/workspaces/${workspaceId}/tasks${query}`, { token: member.token })).status]).toEqual([
        query,
        400,
      ]);
    }
  });

  it('reads no description and asks no more of the database for many tasks than for one', async () => {
    const reads = vi.spyOn(office.unitOfWork, 'read');
    const readsFor = async () => {
      reads.mockClear();
      const { items } = await list();
      for (const item of items) expect(item).not.toHaveProperty('description');
      return reads.mock.calls.length;
    };
    const blocker = await aTask(office, workspaceId, { description: 'wide' });
    const forOne = await readsFor();
    for (let n = 0; n < 5; n++) await aTask(office, workspaceId, { blocked_by: [blocker], description: 'wide' });
    expect(await readsFor()).toBe(forOne);
    expect(reads.mock.calls.some(([sql]) => sql.includes('task.description'))).toBe(false);
    reads.mockRestore();
  });
});

describe('deleting a task', () => {
  const remove = (id: string, token = office.adminToken) => office.ask(`DELETE /api/v1/tasks/${id}`, { token });

  it('is for admins of the workspace', async () => {
    expect((await remove(await aTask(office, workspaceId), member.token)).status).toBe(403);
  });

  it('leaves a tombstone and nothing of what was said', async () => {
    const agent = await anAgent(office, workspaceId);
    const id = await aTask(office, workspaceId, { description: 'secret', assignee_agent_instance_id: agent });
    await office.ask(`POST /api/v1/tasks/${id}/comments`, { token: member.token, body: { body: 'secret' } });
    await office.told(workspaceId);
    office.taskReactions.calls.length = 0;

    expect((await remove(id)).status).toBe(204);
    expect(await office.rows(`select title, description, identifier, deleted_at from tasks where id = $1`, [id])).toEqual([
      { title: '', description: null, identifier: expect.stringMatching(/-1$/), deleted_at: expect.any(Date) },
    ]);
    expect(await office.rows(`select 1 from task_comments where task_id = $1`, [id])).toEqual([]);
    expect(await office.told(workspaceId)).toEqual([['office.task.updated', { task_id: id, fields: ['deleted'] }]]);
    expect(office.taskReactions.calls).toMatchObject([['closed', { id, workspaceId, assigneeId: agent }, 'deleted', { kind: 'user' }]]);
  });

  it('makes it unknown everywhere', async () => {
    const id = await aTask(office, workspaceId);
    const child = await aTask(office, workspaceId, { parent_id: id });
    const waiting = await aTask(office, workspaceId, { blocked_by: [id] });
    await remove(id);
    for (const route of [`GET /api/v1/tasks/${id}`, `GET /api/v1/tasks/${id}/comments`, `GET /api/v1/tasks/${id}/sessions`]) {
      expect((await office.ask(route, { token: member.token })).status).toBe(404);
    }
    for (const [route, body] of [
      [`PATCH /api/v1/tasks/${id}`, { title: 'x' }],
      [`POST /api/v1/tasks/${id}/comments`, { body: 'x' }],
    ] as const) {
      expect((await office.ask(route, { token: member.token, body })).status).toBe(404);
    }
    expect((await remove(id)).status).toBe(404);
    expect((await create({ title: 'x', parent_id: id })).status).toBe(404);
    expect((await create({ title: 'x', blocked_by: [id] })).status).toBe(404);
    expect((await get(child)).body['parent_id']).toBeNull();
    expect((await get(waiting)).body['blocked_by']).toEqual([]);
    const { body } = await office.ask(`GET /api/v1/workspaces/${workspaceId}/tasks`, { token: member.token });
    expect((body['items'] as { id: string }[]).map((task) => task.id)).toEqual([waiting, child]);
  });

  it('lets the reactions still find who waited for it', async () => {
    const id = await aTask(office, workspaceId);
    const waiting = await aTask(office, workspaceId, { blocked_by: [id] });
    let found: unknown[] = [];
    office.taskReactions.during = async (tx) =>
      void (found = await tx.query(`select task_id from task_blockers where blocker_id = $1`, [id]));
    await remove(id);
    office.taskReactions.during = async () => undefined;
    expect(found).toEqual([{ task_id: waiting }]);
  });
});
