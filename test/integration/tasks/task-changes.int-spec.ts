import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aPerson, aWorkspace } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import { gate, lockWaits } from '../../support/gate.js';
import { aTask, anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let member: SomePerson;
let workspaceId: string;
let agent: string;

beforeAll(async () => {
  office = await openRooms();
  member = await aPerson(office, { name: 'Member' });
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office, [[member, 'member']]);
  agent = await anAgent(office, workspaceId);
});
afterAll(() => office.close());

const patch = (id: string, body: unknown) => office.ask(`PATCH /api/v1/tasks/${id}`, { token: member.token, body });
const get = async (id: string) => (await office.ask(`GET /api/v1/tasks/${id}`, { token: member.token })).body;
const byLetter = (left: string, right: string): number => (left < right ? -1 : 1);
const refusal = async (id: string, body: unknown) => {
  const answer = await patch(id, body);
  return [answer.status, answer.body['code']];
};
const rowOf = async (id: string) => (await office.rows<Record<string, unknown>>(`select * from tasks where id = $1`, [id]))[0]!;
const fresh = async (about: Record<string, unknown> = {}) => {
  const id = await aTask(office, workspaceId, about);
  await forget();
  return id;
};
const forget = async () => {
  await office.told(workspaceId);
  office.taskReactions.calls.length = 0;
};
const fields = async () => (await office.told(workspaceId)).map(([action, payload]) => [action, payload['fields']]);
const reactions = () => office.taskReactions.calls.map(([name, , ...rest]) => [name, ...rest.slice(0, -1)]);

describe('a change refuses', () => {
  it.each<[string, Record<string, unknown>]>([
    ['what it does not know', { parent_id: newId() }],
    ['a project', { project_id: null }],
    ['a step', { step_id: newId() }],
    ['a blank title', { title: '' }],
    ['no title', { title: null }],
    ['an unknown state', { state: 'open' }],
    ['a state as objects have by birth', { state: 'constructor' }],
    ['no state', { state: null }],
    ['a flag in words', { archived: 'true' }],
    ['no blockers at all', { blocked_by: null }],
  ])('%s', async (_name, body) => {
    const id = await fresh();
    expect(await refusal(id, body)).toEqual([400, 'validation_failed']);
    expect(await fields()).toEqual([]);
  });

  it('an assignee of another workspace, an unknown and an archived one', async () => {
    const id = await fresh();
    const foreign = await anAgent(office, await aWorkspace(office));
    await office.ask(`DELETE /api/v1/agents/${agent}`, { token: office.adminToken });
    await office.told(workspaceId);
    for (const [assignee, expected] of [
      [foreign, [404, 'not_found']],
      [newId(), [404, 'not_found']],
      [agent, [409, 'agent_archived']],
    ] as const) {
      expect(await refusal(id, { title: 'changed', assignee_agent_instance_id: assignee })).toEqual(expected);
    }
    expect([(await get(id))['title'], await fields()]).toEqual(['Mend the door', []]);
  });

  it('a new assignee for a task that is over, unless it is opened with it', async () => {
    for (const over of [{ state: 'done' }, { state: 'cancelled' }, { archived: true }]) {
      const id = await aTask(office, workspaceId);
      expect(await refusal(id, { ...over, assignee_agent_instance_id: agent })).toEqual([409, 'task_not_open']);
      await patch(id, over);
      expect(await refusal(id, { assignee_agent_instance_id: agent })).toEqual([409, 'task_not_open']);
      const open = 'state' in over ? { state: 'todo' } : { archived: false };
      expect((await patch(id, { ...open, assignee_agent_instance_id: agent })).body['assignee_agent_instance_id']).toBe(agent);
    }
  });

  it('moves the table does not have, and moves of an archived task', async () => {
    const id = await fresh();
    await patch(id, { state: 'done' });
    for (const state of ['REVIEW', 'BLOCKED', 'CANCELLED']) {
      const answer = await patch(id, { state });
      expect([answer.status, answer.body['code'], answer.body['from'], answer.body['to']]).toEqual([
        409,
        'illegal_transition',
        'DONE',
        state,
      ]);
    }
    await patch(id, { archived: true });
    expect(await refusal(id, { state: 'todo' })).toEqual([409, 'task_not_open']);
    expect((await patch(id, { state: 'todo', archived: false })).body).toMatchObject({ state: 'TODO', archived: false });
  });
});

describe('a change', () => {
  it('that changes nothing writes nothing, tells nothing and asks nobody', async () => {
    const blocker = await aTask(office, workspaceId);
    const id = await fresh({ description: 'x', priority: 2, assignee_agent_instance_id: agent, blocked_by: [blocker] });
    const before = await rowOf(id);
    const same = {
      title: 'Mend the door',
      description: 'x',
      state: 'todo',
      priority: 2,
      assignee_agent_instance_id: agent.toUpperCase(),
      blocked_by: [blocker.toUpperCase()],
      archived: false,
    };
    for (const body of [same, {}]) expect((await patch(id, body)).status).toBe(200);
    expect([await rowOf(id), await fields(), office.taskReactions.calls]).toEqual([before, [], []]);
  });

  it('tells exactly the fields that differ, once', async () => {
    const blocker = await aTask(office, workspaceId);
    const id = await fresh({ description: 'x' });
    await patch(id, { title: 'Mend the door', description: 'y' });
    await patch(id, { title: 'Z', description: null, priority: 1, state: 'in_progress', blocked_by: [blocker], archived: true });
    await patch(id, { assignee_agent_instance_id: null, archived: false, blocked_by: [] });
    expect(await fields()).toEqual([
      ['office.task.updated', ['description']],
      ['office.task.updated', ['title', 'description', 'state', 'priority', 'archived', 'blocked_by']],
      ['office.task.updated', ['archived', 'blocked_by']],
    ]);
  });

  it('remembers when the description was changed, and only then', async () => {
    const id = await fresh({ description: 'x' });
    const before = (await rowOf(id))['description_changed_at'];
    await patch(id, { title: 'y' });
    expect((await rowOf(id))['description_changed_at']).toEqual(before);
    await patch(id, { description: 'y' });
    expect((await rowOf(id))['description_changed_at']).not.toEqual(before);
  });

  it('loses neither of two at once', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await fresh();
      await Promise.all([
        patch(id, { title: 'T' }),
        patch(id, { priority: 3 }),
        patch(id, { description: 'D' }),
        patch(id, { state: 'blocked' }),
      ]);
      expect(await get(id)).toMatchObject({ title: 'T', priority: 3, description: 'D', state: 'BLOCKED' });
      expect((await fields()).map(([, changed]) => String(changed)).sort(byLetter)).toEqual(['description', 'priority', 'state', 'title']);
    }
  });

  it('is told once when many ask for the same', async () => {
    const id = await fresh();
    await Promise.all(Array.from({ length: 10 }, () => patch(id, { assignee_agent_instance_id: agent })));
    expect(await fields()).toEqual([['office.task.updated', ['assignee_agent_instance_id']]]);
    expect(reactions()).toEqual([['assigneeChanged', null]]);
  });

  it('is rolled back whole when a reaction fails', async () => {
    const id = await fresh();
    office.taskReactions.during = () => Promise.reject(new Error('no'));
    expect((await patch(id, { title: 'x', assignee_agent_instance_id: agent })).status).toBe(500);
    office.taskReactions.during = async () => undefined;
    expect([(await get(id))['title'], await fields()]).toEqual(['Mend the door', []]);
  });
});

describe('the state', () => {
  const stepsOf = async (id: string) =>
    (
      await office.rows<{ name: string }>(
        `select s.name from task_step_transitions t join workflow_steps s on s.id = t.to_step_id where t.task_id = $1 order by t.id`,
        [id],
      )
    ).map(({ name }) => name);

  it('done goes to the last step, and opened again back to the first', async () => {
    const id = await fresh({ assignee_agent_instance_id: agent });
    expect((await patch(id, { state: 'done' })).body).toMatchObject({ state: 'DONE', step: { name: 'Done', kind: 'done' } });
    expect((await patch(id, { state: 'done' })).status).toBe(200);
    expect((await patch(id, { state: 'in_progress' })).body).toMatchObject({ state: 'IN_PROGRESS', step: { name: 'Work' } });
    expect(await stepsOf(id)).toEqual(['Work', 'Done', 'Work']);
    expect(await fields()).toEqual([
      ['office.task.updated', ['state', 'step']],
      ['office.task.updated', ['state', 'step']],
    ]);
    expect(reactions()).toEqual([
      ['closed', 'done'],
      ['stepEntered', null],
    ]);
  });

  it('cancelled stays where it stands', async () => {
    const id = await fresh();
    expect((await patch(id, { state: 'cancelled' })).body).toMatchObject({ state: 'CANCELLED', step: { name: 'Work' } });
    expect([await stepsOf(id), reactions()]).toEqual([['Work'], [['closed', 'cancelled']]]);
  });

  it.each([
    ['in_review', 'REVIEW', 'Review'],
    ['review', 'REVIEW', 'Review'],
    ['BLOCKED', 'BLOCKED', 'Work'],
    ['in_progress', 'IN_PROGRESS', 'Work'],
  ])('written %s is %s and closes nothing', async (spelling, state, step) => {
    const id = await fresh();
    expect((await patch(id, { state: spelling })).body).toMatchObject({ state, step: { name: step } });
    expect(reactions()).toEqual(step === 'Work' ? [] : [['stepEntered', null]]);
  });

  it('moved by a person is no longer a review after a failure', async () => {
    const id = await fresh();
    await office.rows(`update tasks set state = 'REVIEW', review_after_failure = true where id = $1`, [id]);
    await patch(id, { state: 'in_progress' });
    expect((await rowOf(id))['review_after_failure']).toBe(false);
  });

  it.each([
    [{ archived: true }, [['closed', 'archived']]],
    [{ archived: true, state: 'done' }, [['closed', 'archived']]],
    [
      { assignee_agent_instance_id: null, state: 'cancelled' },
      [
        ['assigneeChanged', 'agent'],
        ['closed', 'cancelled'],
      ],
    ],
  ])('%j closes the task once, the hardest way', async (body, expected) => {
    const id = await fresh({ assignee_agent_instance_id: agent });
    await patch(id, body);
    expect(reactions()).toEqual(expected.map(([name, what]) => [name, what === 'agent' ? agent : what]));
  });
});

describe('the assignee', () => {
  it('changes with the old one named', async () => {
    const other = await anAgent(office, workspaceId);
    const id = await fresh({ assignee_agent_instance_id: agent });
    expect((await patch(id, { assignee_agent_instance_id: other })).body['assignee_agent_instance_id']).toBe(other);
    expect(office.taskReactions.calls).toEqual([
      ['assigneeChanged', { id, workspaceId, assigneeId: other }, agent, { kind: 'user', id: member.id }],
    ]);
    await forget();
    await patch(id, { assignee_agent_instance_id: null });
    expect(office.taskReactions.calls).toEqual([
      ['assigneeChanged', { id, workspaceId, assigneeId: null }, other, { kind: 'user', id: member.id }],
    ]);
  });

  it('may stay while the agent is archived, when something else is changed', async () => {
    const id = await fresh({ assignee_agent_instance_id: agent });
    await office.rows(`update agent_instances set lifecycle = 'archived' where id = $1`, [agent]);
    expect((await patch(id, { title: 'x', assignee_agent_instance_id: agent })).status).toBe(200);
  });
});

describe('what a task waits for', () => {
  const t = async (about: Record<string, unknown> = {}) => aTask(office, workspaceId, about);
  const identifier = async (id: string) => String((await get(id))['identifier']);
  const blockers = async (id: string) => ((await get(id))['blocked_by'] as { id: string }[]).map((blocker) => blocker.id);

  it('refuses tasks it cannot know, and itself', async () => {
    const id = await t();
    const foreign = await aTask(office, await aWorkspace(office));
    expect(await refusal(id, { blocked_by: [foreign] })).toEqual([404, 'not_found']);
    expect(await refusal(id, { blocked_by: [newId()] })).toEqual([404, 'not_found']);
    const itself = await patch(id, { blocked_by: [id] });
    expect([itself.status, itself.body['code'], itself.body['path']]).toEqual([
      409,
      'blocker_cycle',
      [await identifier(id), await identifier(id)],
    ]);
  });

  it('refuses a ring and names the way round', async () => {
    const a = await t();
    const b = await t({ blocked_by: [a] });
    const c = await t({ blocked_by: [b] });
    await forget();
    const answer = await patch(a, { title: 'x', blocked_by: [c] });
    expect([answer.status, answer.body['code']]).toEqual([409, 'blocker_cycle']);
    expect(answer.body['path']).toEqual(await Promise.all([a, c, b, a].map(identifier)));
    expect([await blockers(a), (await get(a))['title'], await fields()]).toEqual([[], 'Mend the door', []]);
  });

  it('refuses a ring through tasks that are done: they may be opened again', async () => {
    const a = await t();
    const b = await t({ blocked_by: [a] });
    await patch(b, { state: 'done' });
    expect(await refusal(a, { blocked_by: [b] })).toEqual([409, 'blocker_cycle']);
  });

  it('may wait in diamonds', async () => {
    const top = await t();
    const [left, right] = [await t({ blocked_by: [top] }), await t({ blocked_by: [top] })];
    const bottom = await t({ blocked_by: [left, right] });
    expect(await blockers(bottom)).toEqual([left, right]);
    expect((await patch(bottom, { blocked_by: [left, right, top] })).status).toBe(200);
  });

  it('is found out quickly in a net of hundreds of diamonds', async () => {
    let level = [await t(), await t()];
    for (let depth = 0; depth < 30; depth++) level = [await t({ blocked_by: level }), await t({ blocked_by: level })];
    const begun = performance.now();
    const [first] = await office.rows<{ id: string }>(`select id from tasks where workspace_id = $1 order by number limit 1`, [
      workspaceId,
    ]);
    expect(await refusal(first!.id, { blocked_by: [level[0]] })).toEqual([409, 'blocker_cycle']);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  it('cannot be made a ring by two changes that cross', async () => {
    for (let round = 0; round < 8; round++) {
      const [a, b] = [await t(), await t()];
      const answers = await Promise.all([patch(a, { blocked_by: [b] }), patch(b, { blocked_by: [a] })]);
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
    }
  });

  it('lets the second of two crossing changes wait for the first', async () => {
    const [a, b] = [await t({ assignee_agent_instance_id: agent }), await t()];
    const held = gate();
    office.taskReactions.during = held.pass;
    const first = patch(a, { assignee_agent_instance_id: null, blocked_by: [b] });
    await held.reached;
    const second = patch(b, { blocked_by: [a] });
    await lockWaits(office);
    held.open();
    office.taskReactions.during = async () => undefined;
    expect([(await first).status, (await second).status]).toEqual([200, 409]);
  });

  it('tells the rooms above when nothing holds the task up any more, and only then', async () => {
    const [open, done, other] = [await t(), await t(), await t()];
    await patch(done, { state: 'done' });
    const id = await t({ blocked_by: [open, done, other] });
    await forget();
    await patch(id, { blocked_by: [open, other] });
    await patch(id, { blocked_by: [open] });
    expect(office.taskReactions.calls).toEqual([]);
    await patch(id, { blocked_by: [] });
    expect(office.taskReactions.calls).toEqual([['unblocked', { id, workspaceId, assigneeId: null }, { kind: 'user', id: member.id }]]);
    await forget();
    await patch(id, { blocked_by: [done] });
    await patch(id, { blocked_by: [] });
    expect(office.taskReactions.calls).toEqual([]);
  });
});
