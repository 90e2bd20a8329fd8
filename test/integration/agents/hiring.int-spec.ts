import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aPerson, aToken, aWorkspace } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import { anAgent, openRooms } from '../../support/office-rooms.js';
import type { OfficeRooms } from '../../support/office-rooms.js';

let office: OfficeRooms;
let admin: SomePerson;
let member: SomePerson;
let stranger: SomePerson;
let workspaceId: string;

beforeAll(async () => {
  office = await openRooms();
  admin = await aPerson(office, { name: 'Admin' });
  member = await aPerson(office, { name: 'Member' });
  stranger = await aPerson(office, { name: 'Stranger' });
});
beforeEach(async () => {
  workspaceId = await aWorkspace(office, [
    [admin, 'admin'],
    [member, 'member'],
  ]);
  await office.told(workspaceId);
});
afterAll(() => office.close());

const hire = (body: Record<string, unknown>, token = admin.token) =>
  office.ask(`POST /api/v1/workspaces/${workspaceId}/agents`, { token, body: { name: 'Ada', role: 'worker', adapter: 'mock', ...body } });
const patch = (id: string, body: Record<string, unknown>, token = admin.token) => office.ask(`PATCH /api/v1/agents/${id}`, { token, body });
const get = (id: string, token = admin.token) => office.ask(`GET /api/v1/agents/${id}`, { token });
const paths = (body: Readonly<Record<string, unknown>>) => (body['fields'] as { path: string }[]).map(({ path }) => path);

describe('who may', () => {
  const routes = (id: string): [string, Record<string, unknown>?][] => [
    [`POST /api/v1/workspaces/${workspaceId}/agents`, { name: 'Eve', role: 'worker', adapter: 'mock' }],
    [`PATCH /api/v1/agents/${id}`, { name: 'Eve' }],
    [`POST /api/v1/agents/${id}/pause`, {}],
    [`POST /api/v1/agents/${id}/unpause`],
    [`POST /api/v1/agents/${id}/stop`],
    [`POST /api/v1/agents/${id}/start`],
    [`DELETE /api/v1/agents/${id}`],
  ];

  it('refuses a member every change', async () => {
    for (const [route, body] of routes(await anAgent(office, workspaceId))) {
      expect([route, (await office.ask(route, { token: member.token, body })).status]).toEqual([route, 403]);
    }
  });

  it('tells a stranger of nothing', async () => {
    const id = await anAgent(office, workspaceId);
    const reads: [string][] = [[`GET /api/v1/agents/${id}`], [`GET /api/v1/workspaces/${workspaceId}/agents`]];
    for (const [route, body] of [...routes(id), ...reads]) {
      const answer = await office.ask(route, { token: stranger.token, body });
      expect([route, answer.status, answer.body['code']]).toEqual([route, 404, 'not_found']);
    }
  });

  it('lets a member read', async () => {
    const id = await anAgent(office, workspaceId);
    expect((await get(id, member.token)).status).toBe(200);
    expect((await office.ask(`GET /api/v1/workspaces/${workspaceId}/agents`, { token: member.token })).body['items']).toHaveLength(1);
  });
});

describe('hiring refuses', () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    ['an unknown field', { lifecycle: 'active' }, ['lifecycle']],
    ['a blank name', { name: '  ' }, ['name']],
    ['an unknown role', { role: 'boss' }, ['role']],
    ['an unknown adapter', { adapter: 'cursor' }, ['adapter']],
    ['a handle of another shape', { handle: 'Ada!' }, ['handle']],
    ['an unknown capability', { permissions: { allow: ['fly'] } }, ['permissions.allow']],
    ['an unknown field of permissions', { permissions: { grant: [] } }, ['permissions.grant']],
    ['a threshold of 0', { failure_threshold: 0 }, ['failure_threshold']],
    ['more sessions than 100', { max_concurrent_sessions: 101 }, ['max_concurrent_sessions']],
    ['a cooldown over a day', { cooldown_sec: 86_401 }, ['cooldown_sec']],
    ['instructions over 64 KiB', { instructions: 'ä'.repeat(32_769) }, ['instructions']],
    ['a configuration that is a list', { adapter_config: [] }, ['adapter_config']],
    ['an unknown field of it', { adapter_config: { modle: 'x' } }, ['adapter_config.modle']],
    ['an environment of the office', { adapter_config: { env: { OFFICE_API_KEY: 'x' } } }, ['adapter_config.env.OFFICE_API_KEY']],
    ['a custom agent without a command', { adapter: 'custom' }, ['adapter_config.command']],
    ['a script for a real agent', { adapter: 'claude', adapter_config: { script: [] } }, ['adapter_config.script']],
  ])('%s', async (_name, body, expected) => {
    const answer = await hire(body);
    expect([answer.status, answer.body['code']]).toEqual([400, 'validation_failed']);
    expect(paths(answer.body)).toEqual(expected);
  });

  it.each([{ command: ['true'] }, { home: 'server' }])('to let an admin of a workspace alone reach the machine with %j', async (config) => {
    const answer = await hire({ adapter_config: config });
    expect([answer.status, answer.body['code']]).toEqual([403, 'forbidden']);
    expect((await hire({ adapter_config: config }, office.adminToken)).status).toBe(201);
  });

  it('a handle that another has', async () => {
    await hire({ handle: 'ada' });
    const answer = await hire({ handle: 'ada' });
    expect([answer.status, answer.body['code'], answer.body['handle']]).toEqual([409, 'handle_taken', 'ada']);
  });

  it('a boss of another workspace', async () => {
    const foreign = await anAgent(office, await aWorkspace(office));
    expect((await hire({ reports_to: foreign })).status).toBe(404);
  });

  it('an archived boss', async () => {
    const boss = await anAgent(office, workspaceId);
    await office.ask(`DELETE /api/v1/agents/${boss}`, { token: admin.token });
    expect((await hire({ reports_to: boss })).body['code']).toBe('agent_archived');
  });

  it('without leaving anything behind', async () => {
    await hire({ handle: 'ada' });
    await office.told(workspaceId);
    await hire({ handle: 'ada' });
    await hire({ role: 'boss' });
    expect(await office.told(workspaceId)).toEqual([]);
    expect(await office.rows(`select 1 from agent_instances where workspace_id = $1`, [workspaceId])).toHaveLength(1);
  });
});

describe('a hired agent', () => {
  it('is active at once and told of once', async () => {
    const { status, body } = await hire({ name: 'Ada Löwe' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      workspace_id: workspaceId,
      name: 'Ada Löwe',
      handle: 'ada-lowe',
      role: 'worker',
      adapter: 'mock',
      status: 'idle',
      pause_reason: null,
      consecutive_failures: 0,
      failure_threshold: null,
      effective_failure_threshold: 3,
      open_failures: 0,
      live_sessions: 0,
      last_run: null,
      subtitle: 'Never run',
      dot: 'grey',
      max_concurrent_sessions: 1,
      cooldown_sec: 0,
      reports_to: null,
      instructions: null,
      adapter_config: { permission_policy: 'ask' },
      permissions: {},
    });
    expect(body['capabilities']).toContain('create_subtask');
    expect(await office.told(workspaceId)).toEqual([
      ['office.agent.updated', { agent_id: body['id'], status: 'idle', pause_reason: null, consecutive_failures: 0 }],
    ]);
  });

  it('follows the threshold of its workspace until it has one of its own', async () => {
    const id = await anAgent(office, workspaceId);
    const settings = `PATCH /api/v1/workspaces/${workspaceId}/settings`;
    expect((await office.ask(settings, { token: admin.token, body: { agent_failure_threshold: 5 } })).status).toBe(200);
    expect((await get(id)).body['effective_failure_threshold']).toBe(5);
    expect((await patch(id, { failure_threshold: 2 })).body['effective_failure_threshold']).toBe(2);
    expect((await patch(id, { failure_threshold: null })).body['effective_failure_threshold']).toBe(5);
  });

  it('may be hired twice with one key, and is one', async () => {
    const ask = { token: admin.token, headers: { 'idempotency-key': 'k1' }, body: { name: 'Ada', role: 'worker', adapter: 'mock' } };
    const route = `POST /api/v1/workspaces/${workspaceId}/agents`;
    const [first, second] = [await office.ask(route, ask), await office.ask(route, ask)];
    expect(second.body).toEqual(first.body);
    expect(await office.rows(`select 1 from agent_instances where workspace_id = $1`, [workspaceId])).toHaveLength(1);
  });

  it('gets a handle of its own however many of its name are hired at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => hire({ name: 'Ada' })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    const handles = answers.map(({ body }) => String(body['handle'])).sort();
    expect(handles).toEqual(['ada', ...Array.from({ length: 19 }, (_, n) => `ada-${n + 2}`)].sort());
  });

  it('shows how it is launched to admins only, and to them only with a token for it', async () => {
    const config = { command: ['node', 'x'], env: { KEY: 'hidden', REF: { secret: 'NAME' } }, script: [{ say: 'hidden' }], model: 'm' };
    const id = await anAgent(office, workspaceId, { adapter_config: config });
    const whole = { ...config, permission_policy: 'ask' };
    expect((await get(id)).body['adapter_config']).toEqual(whole);
    expect((await get(id, office.adminToken)).body['adapter_config']).toEqual(whole);

    const redacted = {
      command: ['[redacted]'],
      env: { KEY: '[redacted]', REF: '[redacted]' },
      script: '[redacted]',
      model: 'm',
      permission_policy: 'ask',
    };
    for (const token of [member.token, await aToken(office, admin.id, ['read']), await aToken(office, admin.id, ['write'])]) {
      const answer = await get(id, token);
      expect(answer.body['adapter_config']).toEqual(redacted);
      expect(answer.text).not.toContain('hidden');
    }
  });

  it('keeps texts PostgreSQL could not take out of the door, and all others as they are', async () => {
    expect((await hire({ instructions: 'a\u0000b' })).status).toBe(400);
    const instructions = '‮rtl 😀 \u001b[31m "quoted" \\ back';
    expect((await hire({ instructions })).body['instructions']).toBe(instructions);
  });
});

describe('changing an agent', () => {
  it('refuses an unknown field, a bad value and null where there is no "none"', async () => {
    const id = await anAgent(office, workspaceId);
    for (const body of [
      { status: 'idle' },
      { pause_reason: null },
      { consecutive_failures: 0 },
      { name: null },
      { role: null },
      { cooldown_sec: '5' },
    ]) {
      expect([body, (await patch(id, body)).status]).toEqual([body, 400]);
    }
  });

  it('refuses a handle that another has, but not its own', async () => {
    await anAgent(office, workspaceId, { handle: 'bob' });
    const id = await anAgent(office, workspaceId, { handle: 'ada' });
    expect((await patch(id, { handle: 'bob' })).body['code']).toBe('handle_taken');
    expect((await patch(id, { handle: 'ada' })).status).toBe(200);
  });

  it('refuses an agent to report to itself, directly or through others', async () => {
    const boss = await anAgent(office, workspaceId);
    const middle = await anAgent(office, workspaceId, { reports_to: boss });
    const worker = await anAgent(office, workspaceId, { reports_to: middle });
    for (const above of [boss, middle, worker, worker.toUpperCase()]) {
      expect((await patch(boss, { reports_to: above })).body['code']).toBe('reporting_cycle');
    }
    expect((await patch(worker, { reports_to: boss })).status).toBe(200);
    expect((await patch(worker, { reports_to: null })).body['reports_to']).toBeNull();
  });

  it('lets no two changes close a ring together', async () => {
    for (let round = 0; round < 5; round++) {
      const [left, right] = [await anAgent(office, workspaceId), await anAgent(office, workspaceId)];
      const answers = await Promise.all([patch(left, { reports_to: right }), patch(right, { reports_to: left })]);
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
    }
  });

  it('refuses a workspace admin another command, and lets them keep the one there is', async () => {
    const config = { command: ['a', 'b'], permission_policy: 'ask' };
    const id = await anAgent(office, workspaceId, { adapter_config: config });
    expect((await patch(id, { adapter_config: { ...config, command: ['a', 'c'] } })).status).toBe(403);
    expect((await patch(id, { adapter: 'custom' })).status).toBe(403);
    expect((await patch(id, { adapter_config: { ...config, home: 'server' } })).status).toBe(403);
    expect((await patch(id, { adapter_config: { ...config, model: 'x' } })).body['adapter_config']).toEqual({ ...config, model: 'x' });
  });

  it('refuses another adapter that the configuration does not suit', async () => {
    const id = await anAgent(office, workspaceId, { adapter_config: { script: [{ say: 'x' }] } });
    const answer = await patch(id, { adapter: 'claude' });
    expect([answer.status, paths(answer.body)]).toEqual([400, ['adapter_config.script']]);
    expect((await patch(id, { adapter: 'claude', adapter_config: {} })).body['adapter']).toBe('claude');
  });

  it('writes and tells a difference once, and no difference never', async () => {
    const id = await anAgent(office, workspaceId, {
      adapter_config: { env: { A: '1' } },
      permissions: { deny: ['decide'] },
      instructions: 'x',
    });
    await office.told(workspaceId);
    const before = (await get(id)).body;
    const same = {
      name: 'Ada',
      adapter_config: { env: { A: '1' } },
      permissions: { deny: ['decide'] },
      instructions: 'x',
      reports_to: null,
    };
    expect((await patch(id, same)).body).toEqual(before);
    expect((await patch(id, {})).body).toEqual(before);
    expect(await office.told(workspaceId)).toEqual([]);

    const { body } = await patch(id, { ...same, role: 'reviewer', permissions: {}, max_concurrent_sessions: 4 });
    expect(body).toMatchObject({ role: 'reviewer', permissions: {}, max_concurrent_sessions: 4 });
    expect(body['capabilities']).toContain('decide');
    expect((await office.told(workspaceId)).map(([action]) => action)).toEqual(['office.agent.updated']);
  });

  it('loses neither of two at once', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await anAgent(office, workspaceId);
      await Promise.all([patch(id, { cooldown_sec: 9 }), patch(id, { name: 'Bea' }), patch(id, { role: 'ceo' })]);
      expect((await get(id)).body).toMatchObject({ cooldown_sec: 9, name: 'Bea', role: 'ceo' });
    }
  });
});

describe('the list', () => {
  const list = async (query = '') =>
    (await office.ask(`GET /api/v1/workspaces/${workspaceId}/agents${query}`, { token: member.token })).body as {
      items: Record<string, unknown>[];
      next_cursor: string | null;
    };

  it('goes through all of them in the order they were hired, page by page', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await anAgent(office, workspaceId));
    await anAgent(office, await aWorkspace(office));
    const seen: unknown[] = [];
    for (let cursor: string | null = null, page = 0; page < 3; page++) {
      const { items, next_cursor } = await list(`?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
      seen.push(...items.map(({ id }) => id));
      cursor = next_cursor;
      expect(cursor === null).toBe(page === 2);
    }
    expect(seen).toEqual(ids);
  });

  it('leaves out the archived ones, their configuration and their instructions', async () => {
    const gone = await anAgent(office, workspaceId);
    await office.ask(`DELETE /api/v1/agents/${gone}`, { token: admin.token });
    const id = await anAgent(office, workspaceId);
    expect((await list()).items.map((agent) => agent['id'])).toEqual([id]);
    expect((await list('?archived=true')).items.map((agent) => [agent['id'], agent['status']])).toEqual([[gone, 'archived']]);
    for (const wide of ['adapter_config', 'instructions', 'permissions']) expect((await list()).items[0]).not.toHaveProperty(wide);
  });

  it('reads the rooms above once for all of them', async () => {
    const [working, failed] = [await anAgent(office, workspaceId), await anAgent(office, workspaceId), await anAgent(office, workspaceId)];
    const lastRun = { id: failed!, status: 'failed', failureKind: 'error', finishedAt: new Date(0), finishedSecondsAgo: 90 };
    office.readings.known.set(working!, { openFailures: 0, liveSessions: 1, lastRun: null });
    office.readings.known.set(failed!, { openFailures: 2, liveSessions: 0, lastRun });
    const asked = office.readings.asked;
    const { items } = await list();
    expect(office.readings.asked - asked).toBe(1);
    expect(items).toMatchObject([
      { status: 'working', live_sessions: 1, subtitle: 'Working', dot: 'green' },
      {
        status: 'idle',
        open_failures: 2,
        subtitle: 'Last run failed 1 minute ago',
        dot: 'red',
        last_run: { id: failed, status: 'failed', finished_at: '1970-01-01T00:00:00.000Z' },
      },
      { status: 'idle', subtitle: 'Never run', dot: 'grey' },
    ]);
  });

  it('refuses a cursor that is not ours and a limit over 200', async () => {
    for (const query of ['?cursor=bm9wZQ', '?limit=201', '?limit=0', '?archived=perhaps', '?role=ceo']) {
      expect([query, (await office.ask(`GET /api/v1/workspaces/${workspaceId}/agents${query}`, { token: member.token })).status]).toEqual([
        query,
        400,
      ]);
    }
  });
});
