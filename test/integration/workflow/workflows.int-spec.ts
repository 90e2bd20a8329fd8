import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aPerson, aWorkspace, type SomePerson } from '../../support/front-desk.js';
import { aTask, anAgent, openRooms, type OfficeRooms } from '../../support/office-rooms.js';

interface Step {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly seats: readonly Record<string, unknown>[];
}
interface Workflow {
  readonly id: string;
  readonly name: string;
  readonly steps: readonly Step[];
  readonly is_office_default: boolean;
}

let office: OfficeRooms;
let member: SomePerson;
let workspaceId: string;

beforeAll(async () => {
  office = await openRooms();
  member = await aPerson(office, { name: 'Member' });
});
beforeEach(async () => void (workspaceId = await aWorkspace(office, [[member, 'member']])));
afterAll(() => office.close());

const ask = (route: string, body?: unknown, token = office.adminToken) => {
  const [method, path] = route.split(' ') as [string, string];
  return office.ask(`${method} /api/v1${path}`, { token, ...(body !== undefined && { body }) });
};
const must = async <Body>(route: string, body?: unknown): Promise<Body> => {
  const answer = await ask(route, body);
  if (answer.status >= 300) throw new Error(`${route}: ${answer.text}`);
  return answer.body as Body;
};
const KANBAN = {
  name: 'Board',
  style: 'kanban',
  steps: [
    { name: 'Do', kind: 'work' },
    { name: 'Look', kind: 'review' },
    { name: 'End', kind: 'done' },
  ],
};
const make = (about: Record<string, unknown> = {}) => must<Workflow>(`POST /workspaces/${workspaceId}/workflows`, { ...KANBAN, ...about });
const keep = ({ id, name, kind }: Step) => ({ id, name, kind });

describe('a workflow', () => {
  it('is made with its steps and seats, listed, and shown to members', async () => {
    const agent = await anAgent(office, workspaceId);
    const made = await make({
      steps: [
        { name: 'Do', kind: 'work', on_agent_error: { target: agent } },
        {
          name: 'Look',
          kind: 'review',
          seats: [
            { role: 'reviewer', agent_id: agent },
            { role: 'watcher', user_id: member.id },
          ],
        },
      ],
    });
    expect(made).toEqual({
      id: expect.any(String),
      workspace_id: workspaceId,
      name: 'Board',
      style: 'kanban',
      is_office_default: false,
      created_at: expect.any(String),
      steps: [
        { id: expect.any(String), name: 'Do', kind: 'work', requires_signal: true, on_agent_error: { target: agent }, seats: [] },
        {
          id: expect.any(String),
          name: 'Look',
          kind: 'review',
          requires_signal: false,
          on_agent_error: null,
          seats: [
            { id: expect.any(String), role: 'reviewer', agent_id: agent, user_id: null, name: 'Ada', decision_required: true },
            { id: expect.any(String), role: 'watcher', agent_id: null, user_id: member.id, name: 'Member', decision_required: false },
          ],
        },
      ],
    });
    expect((await ask(`GET /workflows/${made.id}`, undefined, member.token)).body).toEqual(made);
    const page = await must<{ items: Workflow[]; next_cursor: string }>(`GET /workspaces/${workspaceId}/workflows?limit=1`);
    expect(page.items.map(({ name }) => name)).toEqual(['Office default']);
    const rest = await must<{ items: Workflow[]; next_cursor: null }>(
      `GET /workspaces/${workspaceId}/workflows?limit=1&cursor=${page.next_cursor}`,
    );
    expect([rest.items.map(({ name }) => name), rest.next_cursor]).toEqual([['Board'], null]);
  });

  it('keeps what is left out of a change, takes new steps in, and changes the order', async () => {
    const agent = await anAgent(office, workspaceId);
    const made = await make({
      steps: [KANBAN.steps[0], { ...KANBAN.steps[1]!, seats: [{ role: 'reviewer', agent_id: agent }] }, KANBAN.steps[2]],
    });
    const [work, look, end] = made.steps as [Step, Step, Step];
    const changed = await must<Workflow>(`PATCH /workflows/${made.id}`, {
      name: 'Plank',
      steps: [keep(look), { name: 'Again', kind: 'work', requires_signal: false }, { ...keep(work), name: 'Make' }, keep(end)],
    });
    expect([changed.name, changed.steps.map(({ name }) => name)]).toEqual(['Plank', ['Look', 'Again', 'Make', 'End']]);
    expect(changed.steps[0]).toEqual(look);
    expect(changed.steps[2]).toMatchObject({ id: work.id, requires_signal: true });
    const emptied = await must<Workflow>(`PATCH /workflows/${made.id}`, { steps: [{ ...keep(look), seats: [] }, keep(end)] });
    expect(emptied.steps.map(({ name, seats }) => [name, seats.length])).toEqual([
      ['Look', 0],
      ['End', 0],
    ]);
  });

  it('does not lose a step that a task stands on, or has stood on; nor itself', async () => {
    const made = await make();
    const [work, look, end] = made.steps as [Step, Step, Step];
    const task = await aTask(office, workspaceId, { workflow_id: made.id });
    const without = (step: Step) =>
      ask(`PATCH /workflows/${made.id}`, { steps: [work, look, end].filter((one) => one !== step).map(keep) });
    expect([(await without(work)).status, (await without(work)).body['step_ids']]).toEqual([409, [work.id]]);
    await ask(`PATCH /tasks/${task}`, { state: 'in_review' });
    expect([(await without(work)).body['code'], (await without(look)).body['code'], (await without(end)).status]).toEqual([
      'step_in_use',
      'step_in_use',
      200,
    ]);
    expect((await ask(`DELETE /workflows/${made.id}`)).body['code']).toBe('workflow_in_use');
    const unused = await make();
    expect((await ask(`DELETE /workflows/${unused.id}`)).status).toBe(204);
    expect((await ask(`GET /workflows/${unused.id}`)).status).toBe(404);
    const { items } = await must<{ items: Workflow[] }>(`GET /workspaces/${workspaceId}/workflows`);
    expect((await ask(`DELETE /workflows/${items.find((one) => one.is_office_default)!.id}`)).body['code']).toBe('office_workflow_fixed');
  });

  it.each<[string, (made: Workflow) => unknown, number]>([
    ['a step of another kind', ({ steps }) => ({ steps: [{ ...keep(steps[0]!), kind: 'review' }] }), 409],
    ['a step there is not', () => ({ steps: [{ id: newId(), name: 'x', kind: 'work' }] }), 404],
    ['no steps', () => ({ steps: [] }), 400],
    ['a style', () => ({ style: 'office' }), 400],
    [
      'an end in the middle',
      () => ({
        steps: [
          { name: 'x', kind: 'work' },
          { name: 'y', kind: 'done' },
          { name: 'z', kind: 'work' },
        ],
      }),
      400,
    ],
    ['a seat of nobody', () => ({ steps: [{ name: 'x', kind: 'review', seats: [{ role: 'reviewer' }] }] }), 400],
    ['a seat of a stranger', () => ({ steps: [{ name: 'x', kind: 'review', seats: [{ role: 'reviewer', user_id: newId() }] }] }), 404],
    ['a coordinator there is not', () => ({ steps: [{ name: 'x', kind: 'work', on_agent_error: { target: newId() } }] }), 404],
    ['a coordinator that is none', () => ({ steps: [{ name: 'x', kind: 'work', on_agent_error: { target: 'boss' } }] }), 400],
  ])('refuses %s, and stays as it was', async (_name, body, status) => {
    const made = await make();
    expect((await ask(`PATCH /workflows/${made.id}`, body(made))).status).toBe(status);
    expect(await must(`GET /workflows/${made.id}`)).toEqual(made);
  });

  it('is for admins to make and change, and of its workspace alone', async () => {
    const made = await make();
    const stranger = await aWorkspace(office);
    const foreign = await must<Workflow>(`POST /workspaces/${stranger}/workflows`, KANBAN);
    expect((await ask(`POST /workspaces/${workspaceId}/workflows`, KANBAN, member.token)).status).toBe(403);
    expect((await ask(`PATCH /workflows/${made.id}`, { name: 'x' }, member.token)).status).toBe(403);
    expect((await ask(`DELETE /workflows/${made.id}`, undefined, member.token)).status).toBe(403);
    expect((await ask(`GET /workflows/${foreign.id}`, undefined, member.token)).status).toBe(404);
    expect((await ask(`POST /workspaces/${workspaceId}/tasks`, { title: 'x', workflow_id: foreign.id })).body).toMatchObject({
      code: 'not_found',
      what: 'workflow',
    });
    expect((await ask(`PATCH /workflows/${made.id}`, { steps: [{ ...keep(foreign.steps[0]!) }] })).status).toBe(404);
  });
});

describe('a project', () => {
  const project = (about: Record<string, unknown> = {}) =>
    must<{ id: string }>(`POST /workspaces/${workspaceId}/projects`, { name: 'House', ...about });

  it('is made, changed, listed and removed', async () => {
    const made = await project({ description: 'All of it' });
    expect(made).toMatchObject({ workspace_id: workspaceId, name: 'House', description: 'All of it' });
    expect(await must(`PATCH /projects/${made.id}`, { name: 'Home' })).toMatchObject({ name: 'Home', description: 'All of it' });
    expect(await must(`PATCH /projects/${made.id}`, { description: null })).toMatchObject({ name: 'Home', description: null });
    const { items } = await must<{ items: { id: string }[] }>(`GET /workspaces/${workspaceId}/projects`);
    expect(items.map(({ id }) => id)).toEqual([made.id]);
    expect((await ask(`GET /projects/${made.id}`, undefined, member.token)).status).toBe(200);
    expect((await ask(`PATCH /projects/${made.id}`, { name: 'x' }, member.token)).status).toBe(403);
    expect((await ask(`DELETE /projects/${made.id}`)).status).toBe(204);
    expect((await ask(`GET /projects/${made.id}`)).status).toBe(404);
  });

  it('groups tasks, and stays while one belongs to it', async () => {
    const made = await project();
    const task = await aTask(office, workspaceId, { project_id: made.id });
    await aTask(office, workspaceId);
    const { items } = await must<{ items: { id: string; project_id: string }[] }>(
      `GET /workspaces/${workspaceId}/tasks?project=${made.id}`,
    );
    expect(items.map(({ id, project_id }) => [id, project_id])).toEqual([[task, made.id]]);
    expect((await ask(`DELETE /projects/${made.id}`)).body['code']).toBe('project_in_use');
    await ask(`DELETE /tasks/${task}`);
    expect((await ask(`DELETE /projects/${made.id}`)).status).toBe(204);
    const stranger = await must<{ id: string }>(`POST /workspaces/${await aWorkspace(office)}/projects`, { name: 'x' });
    expect((await ask(`POST /workspaces/${workspaceId}/tasks`, { title: 'x', project_id: stranger.id })).body).toMatchObject({
      code: 'not_found',
      what: 'project',
    });
  });
});

describe('a task is the Office’s', () => {
  it.each([
    ['by its workflow', 'default', false, true],
    ['by its project, in any office-style workflow', 'office', true, true],
    ['not without a project in another workflow', 'office', false, false],
    ['not on a board, whatever its project', 'kanban', true, false],
  ])('%s', async (_name, workflow, inProject, isOffice) => {
    const agent = await anAgent(office, workspaceId);
    const { id: project_id } = await must<{ id: string }>(`POST /workspaces/${workspaceId}/projects`, { name: 'House' });
    const workflow_id = workflow === 'default' ? null : (await make({ style: workflow })).id;
    const task = await aTask(office, workspaceId, { workflow_id, ...(inProject && { project_id }) });
    const session = newId();
    await office.rows(
      `insert into task_sessions (id, workspace_id, agent_id, task_id, adapter, state) values ($1, $2, $3, $4, 'mock', 'WAITING_FOR_INPUT')`,
      [session, workspaceId, agent, task],
    );
    // Only of a task that is not the Office's is a session live between its turns.
    expect((await must<{ live: boolean }>(`GET /sessions/${session}`)).live).toBe(!isOffice);
  });
});
