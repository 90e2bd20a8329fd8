import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aPerson, aToken, type SomePerson } from '../../support/front-desk.js';
import { openByEvents, type Item } from '../../support/recovery-office.js';
import { RuntimeDesk, type Worker } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
let ada: Worker;
let bob: string;
let member: SomePerson;
let url: string;

beforeAll(async () => {
  const office = await RuntimeDesk.open();
  url = await office.listen();
  member = await aPerson(office.office.app, { name: 'Mel', scopes: ['admin'] });
  desk = office;
});
afterAll(() => desk.close());
beforeEach(async () => {
  desk = await desk.elsewhere();
  await desk.office.must(`PUT /workspaces/${desk.workspaceId}/members/${member.id}`, { role: 'member' });
  ada = await desk.worker({ name: 'Ada' }, { title: 'Mend the door' });
  bob = await desk.agent({ name: 'Bob' });
});

interface Missing extends Item {
  readonly capability: string | null;
}
const open = async (): Promise<Missing[]> => (await desk.office.inbox(desk.workspaceId)) as Missing[];
const lacking = async (): Promise<string[]> =>
  (await open()).map(({ capability }) => String(capability)).toSorted((a, b) => a.localeCompare(b));
const spawn = (by = ada) => by.ask(`POST /agents/${bob}/runs`, {});
const denied = { status: 403, body: { code: 'capability_denied', needed: 'spawn_agent_run' } };
/** Refused once; the item's id. */
async function missing(by = ada): Promise<string> {
  expect(await spawn(by)).toMatchObject(denied);
  return (await open()).find(({ agent_id }) => agent_id === by.run.agentId)!.id;
}
const answer = (itemId: string, decision = 'allow_always', token = desk.office.token) =>
  desk.office.ask(`POST /workspaces/${desk.workspaceId}/inbox/items/${itemId}/answer`, { decision }, token);
const permissionsOf = async (agentId: string) => {
  const { permissions, capabilities } = await desk.office.agentNow(agentId);
  return { permissions, capabilities };
};
/** The next run of the same agent on the same task, with a token of its own. */
async function again(worker: Worker): Promise<Worker> {
  const { agentId, taskId } = worker.run;
  await desk.office.complete(worker.run);
  await desk.office.must(`POST /tasks/${taskId}/comments`, { body: 'Once more.' });
  return desk.atWork(await desk.office.startPair(desk.workspaceId, agentId, taskId!));
}

describe('an action that is refused for want of a capability', () => {
  it('is an item that names it, and says from when a grant counts', async () => {
    const id = await missing();
    expect(await open()).toEqual([
      {
        id,
        kind: 'capability_missing',
        title: 'Ada lacks spawn_agent_run (refused: spawn_agent_run)',
        agent_id: ada.run.agentId,
        agent_name: 'Ada',
        task_ids: [ada.run.taskId],
        tasks: [{ id: ada.run.taskId, identifier: expect.any(String), title: 'Mend the door' }],
        run_id: ada.run.runId,
        capability: 'spawn_agent_run',
        hint: 'what a run may do is fixed when it begins: once allowed, the agent may from its next run on',
        error_summary: null,
        error_class: null,
        error_code: null,
        permission: null,
        created_at: expect.any(String),
        actions: ['allow_always', 'mark_fixed'],
        resolved: null,
      },
    ]);
    expect(await desk.office.count(desk.workspaceId)).toBe(1);
    expect(await desk.office.told(desk.workspaceId)).toMatchObject([
      { kind: 'capability_missing', item_id: id, agent_id: ada.run.agentId, task_ids: [ada.run.taskId], change: 'opened' },
    ]);
  });

  it('names what an action itself asks for, also where the action alone was allowed', async () => {
    await ada.ask(`POST /tasks/${ada.run.taskId}/subtasks`, { title: 'Oil', assignee_agent_id: bob });
    expect(await open()).toMatchObject([{ title: 'Ada lacks assign_tasks (refused: create_subtask)', capability: 'assign_tasks' }]);
  });

  it('is one item however it was asked, by tool or route', async () => {
    await spawn();
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'spawn_agent_run', arguments: { agent_id: bob } } };
    const headers = {
      authorization: `Bearer ${ada.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const tool = await (await fetch(`${url}/mcp`, { method: 'POST', headers, body: JSON.stringify(call) })).json();
    expect(tool).toMatchObject({ result: { isError: true } });
    expect(await lacking()).toEqual(['spawn_agent_run']);
  });

  it.each<[string, (it: Worker) => Promise<unknown>, string]>([
    ['another task', async (it) => it.ask('POST /comments', { task_id: await desk.task(), body: 'x' }), 'task_out_of_scope'],
    ['another workspace', (it) => it.ask('POST /comments', { task_id: desk.workspaceId, body: 'x' }), 'workspace_out_of_scope'],
    [
      'the memory of another agent',
      (it) => it.ask(`GET /memory/workspaces/${desk.workspaceId}/memory/agents/${bob}/k`),
      'capability_denied',
    ],
    [
      'to grant what it lacks',
      (it) => it.ask('POST /approvals', { type: 'hire_agent', reason: 'x', payload: { name: 'Eve', role: 'assistant' } }),
      'capability_denied',
    ],
    ['a body that says nothing', (it) => it.ask('POST /comments', {}), 'validation_failed'],
  ])('is none when what was asked for is %s', async (_, ask, code) => {
    expect(await ask(ada)).toMatchObject({ body: { code } });
    expect(await open()).toEqual([]);
  });

  it('floods nobody: one item, told once, and never written again', async () => {
    const also = desk.atWork(
      await desk.office.startPair(desk.workspaceId, ada.run.agentId, await desk.task({ assignee_agent_instance_id: ada.run.agentId })),
    );
    const tries = Array.from({ length: 60 }, (_, n) => [
      spawn(ada),
      spawn(also),
      also.ask('POST /agents', { name: `Eve ${n}`, role: 'worker' }),
    ]);
    for (const { status } of await Promise.all(tries.flat())) expect(status).toBe(403);
    expect(await lacking()).toEqual(['create_agent', 'spawn_agent_run']);
    const rows = () => desk.office.rows(`select xmin, * from missing_capabilities where workspace_id = $1`, desk.workspaceId);
    const before = await rows();
    expect(before).toHaveLength(2);
    await spawn();
    expect(await rows()).toEqual(before);
    expect(await desk.office.told(desk.workspaceId)).toHaveLength(2);
    expect(await ada.log()).toHaveLength(61);
  });
});

describe('a grant', () => {
  it('is an admin’s, gives exactly that, and counts from the next run on', async () => {
    await desk.office.must(`PATCH /agents/${ada.run.agentId}`, { permissions: { deny: ['decide'] } });
    const id = await missing();
    expect(await answer(id, 'allow_always', member.token)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const stranger = await aPerson(desk.office.app);
    expect(await answer(id, 'allow_always', stranger.token)).toMatchObject({ status: 404 });
    const before = await permissionsOf(ada.run.agentId);
    expect(await answer(id)).toMatchObject({ status: 200, body: { item_id: id, decision: 'allow_always', already_answered: false } });
    expect(await permissionsOf(ada.run.agentId)).toEqual({
      permissions: { allow: ['spawn_agent_run'], deny: ['decide'] },
      capabilities: expect.arrayContaining([...(before.capabilities as string[]), 'spawn_agent_run']),
    });
    expect(await answer(id)).toMatchObject({ status: 200, body: { already_answered: true } });
    expect(await open()).toEqual([]);
    const [resolved] = await desk.office.inbox(desk.workspaceId, 'resolved');
    expect(resolved).toMatchObject({ id, actions: [], resolved: { by: { name: 'admin' } } });

    expect(await spawn()).toMatchObject(denied);
    expect(await open()).toEqual([]);
    expect(await spawn(await again(ada))).toMatchObject({ status: 202 });
    expect(openByEvents(await desk.office.told(desk.workspaceId))).toEqual(new Map());
  });

  it('wins over a denial by name, for it is the same people who say it', async () => {
    await desk.office.must(`PATCH /agents/${ada.run.agentId}`, { permissions: { deny: ['create_subtask', 'decide'] } });
    const next = await again(ada);
    await next.ask(`POST /tasks/${next.run.taskId}/subtasks`, { title: 'Oil' });
    const [item] = await open();
    expect(item).toMatchObject({ capability: 'create_subtask' });
    await answer(item!.id);
    expect(await permissionsOf(ada.run.agentId)).toMatchObject({ permissions: { allow: [], deny: ['decide'] } });
  });

  it('is nothing else: neither once, nor an answer of no', async () => {
    const id = await missing();
    for (const decision of ['allow_once', 'deny']) {
      expect(await answer(id, decision)).toMatchObject({ status: 400, body: { fields: [{ path: 'decision' }] } });
    }
    expect(await lacking()).toEqual(['spawn_agent_run']);
  });

  it('needs a token that may change agents', async () => {
    const id = await missing();
    await desk.office.must(`PUT /workspaces/${desk.workspaceId}/members/${member.id}`, { role: 'admin' });
    const writer = await aToken(desk.office.app, member.id, ['write']);
    expect(await answer(id, 'allow_always', writer)).toMatchObject({ status: 403 });
    expect(await answer(id, 'allow_always', member.token)).toMatchObject({ status: 200 });
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'a person who changes its permissions',
      () => desk.office.must(`PATCH /agents/${ada.run.agentId}`, { permissions: { allow: ['spawn_agent_run'] } }),
      'admin',
    ],
    ['a person who changes its role', () => desk.office.must(`PATCH /agents/${ada.run.agentId}`, { role: 'assistant' }), 'admin'],
    [
      'an agent that may',
      async () =>
        (await desk.worker({ role: 'ceo' })).must(`PATCH /agents/${ada.run.agentId}`, { permissions: { allow: ['spawn_agent_run'] } }),
      'system',
    ],
    ['the end of the agent', () => desk.office.ask(`DELETE /agents/${ada.run.agentId}`), 'system'],
  ])('may come from elsewhere: %s resolves the item', async (_, change, name) => {
    const id = await missing();
    await change();
    expect(await open()).toEqual([]);
    expect(await desk.office.inbox(desk.workspaceId, 'resolved')).toMatchObject([{ id, resolved: { by: { name } } }]);
  });

  it('is not asked for an agent that has been archived', async () => {
    const id = await missing();
    await desk.office.ask(`DELETE /agents/${ada.run.agentId}`);
    expect(await answer(id)).toMatchObject({ status: 409, body: { code: 'permission_gone' } });
  });

  it('at the very moment of a refusal leaves no item of what is granted', async () => {
    for (let round = 0; round < 15; round++) {
      const one = await desk.worker();
      const grant = desk.office.must(`PATCH /agents/${one.run.agentId}`, { permissions: { allow: ['spawn_agent_run'] } });
      await Promise.all([spawn(one), grant, spawn(one)]);
      expect((await open()).filter(({ agent_id }) => agent_id === one.run.agentId)).toEqual([]);
    }
    openByEvents(await desk.office.told(desk.workspaceId));
  });
});

describe('Mark fixed', () => {
  it('leaves it so for the run that was refused; a later one may ask again', async () => {
    const id = await missing();
    const first = await desk.office.dismiss(desk.workspaceId, id, member.token);
    expect(first).toMatchObject({ status: 200, body: { kind: 'capability_missing', already_dismissed: false, queued_runs: [] } });
    expect(await desk.office.dismiss(desk.workspaceId, id)).toMatchObject({ status: 200, body: { already_dismissed: true } });
    expect(await answer(id)).toMatchObject({ status: 409, body: { code: 'permission_answered', decision: 'deny' } });
    await spawn();
    expect(await open()).toEqual([]);
    expect(await missing(await again(ada))).not.toBe(id);
    expect(openByEvents(await desk.office.told(desk.workspaceId)).size).toBe(1);
  });

  it('is the last word on what was denied by name', async () => {
    await desk.office.must(`PATCH /agents/${ada.run.agentId}`, { permissions: { deny: ['spawn_agent_run'] } });
    await desk.office.dismiss(desk.workspaceId, await missing());
    expect(await spawn(await again(ada))).toMatchObject(denied);
    expect(await open()).toEqual([]);
  });

  it('takes many at once', async () => {
    const id = await missing();
    expect(await desk.office.must(`POST /workspaces/${desk.workspaceId}/inbox/dismiss`, { item_ids: [id] })).toMatchObject({
      items: [{ item_id: id, dismissed: true }],
    });
    expect(await desk.office.count(desk.workspaceId)).toBe(0);
  });
});
