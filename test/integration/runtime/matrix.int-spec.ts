// oxlint-disable vitest/no-conditional-expect -- what is expected of a case is computed from it, and every branch expects something
import { JwtService } from '@nestjs/jwt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_ROLES, CAPABILITIES, capabilitiesOf, type AgentRole, type Capability } from '../../../src/access/domain/capabilities.js';
import { RunKeys } from '../../../src/access/run-keys.js';
import { RunTokens } from '../../../src/access/run-tokens.service.js';
import { RUN_GUARDS } from '../../../src/access/requires.decorator.js';
import { OFFICE_ERRORS, type OfficeErrorCode } from '../../../src/platform/errors/office-error.js';
import { newId } from '../../../src/platform/ids.js';
import { RUNTIME_ACTIONS } from '../../../src/runtime/all-actions.js';
import { ACTION_NAMES, type ActionName } from '../../../src/runtime/domain/action-names.js';
import { routeInventory } from '../../support/route-inventory.js';
import { RuntimeDesk, Worker } from '../../support/runtime-desk.js';

/** What a request names: something of the run's own, of its workspace, of another workspace, or nothing there is. */
type Target = 'own' | 'foreign' | 'elsewhere' | 'nowhere';
const TARGETS: readonly Target[] = ['own', 'foreign', 'elsewhere', 'nowhere'];

interface Ids {
  readonly task: string;
  readonly agent: string;
  readonly skill: string;
  readonly workspace: string;
}
interface Sample {
  /** What of it the target chooses; null: the action names nothing. */
  readonly names: 'task' | 'agent' | 'skill' | 'memory' | null;
  readonly request: (ids: Ids) => readonly [string, unknown?];
}

/** One request an action. A new action has none, and does not compile. */
const SAMPLES: Readonly<Record<ActionName, Sample>> = {
  me: { names: null, request: () => ['GET /me'] },
  post_comment: { names: 'task', request: ({ task }) => ['POST /comments', { task_id: task, body: 'Hi' }] },
  update_task_status: { names: 'task', request: ({ task }) => [`POST /tasks/${task}/status`, { status: 'in_progress' }] },
  create_subtask: { names: 'task', request: ({ task }) => [`POST /tasks/${task}/subtasks`, { title: 'Below' }] },
  step_complete: { names: 'task', request: ({ task }) => [`POST /tasks/${task}/step-complete`, { summary: 'It is mended.' }] },
  decide: { names: 'task', request: ({ task }) => [`POST /tasks/${task}/decisions`, { decision: 'approved' }] },
  create_agent: { names: 'agent', request: ({ agent }) => ['POST /agents', { name: 'Bob', role: 'worker', reports_to: agent }] },
  modify_agent: { names: 'agent', request: ({ agent }) => [`PATCH /agents/${agent}`, { instructions: 'Be brief.' }] },
  unpause_agent: { names: 'agent', request: ({ agent }) => [`POST /agents/${agent}/unpause`] },
  spawn_agent_run: { names: 'agent', request: ({ agent }) => [`POST /agents/${agent}/runs`, {}] },
  request_approval: {
    names: 'task',
    request: ({ task }) => ['POST /approvals', { type: 'generic', reason: 'May I?', target_type: 'task', target_id: task }],
  },
  read_memory: { names: 'memory', request: ({ workspace, agent }) => [`GET /memory/workspaces/${workspace}/memory/agents/${agent}/k`] },
  write_memory: {
    names: 'memory',
    request: ({ workspace, agent }) => [`PUT /memory/workspaces/${workspace}/memory/agents/${agent}/k`, { content: 'kept' }],
  },
  list_skills: { names: null, request: () => ['GET /skills'] },
  delete_skill: { names: 'skill', request: ({ skill }) => [`DELETE /skills/${skill}`] },
};
/** A task that an action only mentions is nobody's to change. */
const ONLY_MENTIONS: ReadonlySet<ActionName> = new Set(['request_approval']);

let here: RuntimeDesk;
let there: RuntimeDesk;
let worker: Worker;
let ids: Readonly<Record<Target, Ids>>;
const declarationOf = (action: ActionName) => RUNTIME_ACTIONS.find(({ declared }) => declared.action === action)!.declared;

const aSkill = async (desk: RuntimeDesk): Promise<string> =>
  (
    await desk.office.must<{ id: string }>(`POST /workspaces/${desk.workspaceId}/skills`, {
      slug: `s${newId()}`,
      name: 'S',
      description: 'S',
      content: 'S',
    })
  ).id;

beforeAll(async () => {
  here = await RuntimeDesk.open();
  there = await here.elsewhere();
  worker = await here.worker();
  const elsewhere = await there.worker();
  ids = {
    own: { task: worker.run.taskId!, agent: worker.run.agentId, skill: await aSkill(here), workspace: here.workspaceId },
    foreign: { task: await here.task(), agent: await here.agent(), skill: await aSkill(here), workspace: here.workspaceId },
    elsewhere: { task: elsewhere.run.taskId!, agent: elsewhere.run.agentId, skill: await aSkill(there), workspace: there.workspaceId },
    nowhere: { task: newId(), agent: newId(), skill: newId(), workspace: newId() },
  };
});
afterAll(() => here.close());

const tokens = () => here.office.app.app.get(RunTokens, { strict: false });
const as = (role: AgentRole, capabilities: readonly Capability[]): Worker =>
  new Worker(here.office, worker.run, tokens().mint({ ...worker.run, role, capabilities }));

/** Contract 12, said once more: what stops the request, or null. */
function refusalOf(action: ActionName, role: AgentRole, held: readonly Capability[], target: Target): string | null {
  const { capability } = declarationOf(action);
  const { names } = SAMPLES[action];
  if (capability !== null && !held.includes(capability)) return 'capability_denied';
  if (names !== null && (target === 'elsewhere' || target === 'nowhere')) return 'workspace_out_of_scope';
  // Nobody ends the step of another conversation, however far it reaches.
  if (action === 'step_complete' && target === 'foreign') return 'task_out_of_scope';
  const reachesAll = role === 'ceo' && held.includes('assign_tasks');
  if (names === 'task' && target === 'foreign' && !reachesAll && !ONLY_MENTIONS.has(action)) return 'task_out_of_scope';
  if (names === 'memory' && target === 'foreign') return 'capability_denied';
  return null;
}

const CASES = ACTION_NAMES.flatMap((action) =>
  AGENT_ROLES.flatMap((role) =>
    [true, false].flatMap((granted) =>
      (SAMPLES[action].names === null ? (['own'] as const) : TARGETS).map((target) => ({ action, role, granted, target })),
    ),
  ),
);

interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** As a tool: its arguments are what the route takes, path and body in one. What it answers stands for the status of the route. */
async function askTool(caller: Worker, action: ActionName, route: string, body: unknown): Promise<Answered> {
  const pattern = declarationOf(action).route.split(' ')[1]!;
  const names = [...pattern.matchAll(/:(\w+)|\*/g)].map(([, name]) => name ?? 'path');
  const shape = new RegExp(`/${pattern.replaceAll(/:\w+/g, '([^/]+)').replace('*', '(.+)')}$`);
  const parts = shape.exec(route.split(' ')[1]!)!.slice(1);
  const given = { ...(body as object), ...Object.fromEntries(names.map((name, at) => [name, parts[at]])) };
  const answer = await here.office.app.ask('POST /mcp', {
    token: caller.token,
    headers: { accept: 'application/json, text/event-stream' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: action, arguments: given } },
  });
  const { isError, content } = answer.body.result as { readonly isError?: true; readonly content: readonly { readonly text: string }[] };
  const said = JSON.parse(content[0]!.text) as Record<string, unknown>;
  return { status: isError === true ? OFFICE_ERRORS[said['code'] as OfficeErrorCode][0] : 200, body: said };
}

describe.each(['REST', 'MCP'])('every action over %s, whoever asks', (carrier) => {
  it.each(CASES)('$action by a $role with its capability $granted, of a row $target', async ({ action, role, granted, target }) => {
    const { capability } = declarationOf(action);
    const permissions = capability === null ? {} : granted ? { allow: [capability] } : { deny: [capability] };
    const held = capabilitiesOf(role, permissions);
    const caller = as(role, held);
    if (action === 'delete_skill' && (target === 'own' || target === 'foreign')) {
      (ids as Record<Target, Ids>)[target] = { ...ids[target], skill: await aSkill(here) };
    }
    const before = (await caller.log()).length;
    const [route, body] = SAMPLES[action].request(ids[target]);
    const answer: Answered = await (carrier === 'REST' ? caller.ask(route, body) : askTool(caller, action, route, body));
    const log = await caller.log();

    expect(log.length).toBe(before + 1);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    const told = log.at(-1)!;
    expect(told.payload).toMatchObject({ action });
    const refusal = refusalOf(action, role, held, target);
    if (refusal !== null) {
      expect(answer.status).toBe(403);
      expect(answer.body).toMatchObject({ error: expect.any(String), code: refusal });
      expect(told).toMatchObject({ event_type: 'runtime.denied', payload: { error: refusal } });
    } else if (answer.status < 300) expect(told.event_type).toBe('runtime.action');
    else {
      // What an action itself says no to: never a guard's word about scope, never our fault, and in the log as well.
      expect([403, 404, 409]).toContain(answer.status);
      expect(['workspace_out_of_scope', 'task_out_of_scope']).not.toContain(answer.body.code);
      expect(told).toMatchObject({ event_type: 'runtime.denied', payload: { error: answer.body.code } });
    }
  });
});

describe('every action with a token that is worth nothing', () => {
  const jwt = new JwtService();
  const NOW = Math.floor(new Date().getTime() / 1_000);
  const claimsOf = ({ run }: Worker): Record<string, unknown> => ({
    iat: NOW,
    exp: NOW + 3_600,
    iss: 'agent-office',
    aud: 'agent-office/runtime',
    run: run.runId,
    generation: run.generation,
    agent: run.agentId,
    task: run.taskId,
    workspace: run.workspaceId,
    session: run.sessionId,
    role: 'ceo',
    capabilities: [...CAPABILITIES],
    allowed_task_ids: '*',
  });
  const keys = () => here.office.app.app.get(RunKeys, { strict: false }).signing;
  const signed = (claims: object, how: { secret?: Buffer; keyid?: string; algorithm?: 'HS256' | 'HS384' } = {}): string =>
    jwt.sign(claims, { secret: how.secret ?? keys().secret, keyid: how.keyid ?? keys().kid, algorithm: how.algorithm ?? 'HS256' });
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const withClaims = (change: Record<string, unknown>) => (it: Worker) => signed({ ...claimsOf(it), ...change });

  const TOKENS: Readonly<Record<string, (it: Worker) => string | undefined>> = {
    missing: () => undefined,
    expired: withClaims({ iat: NOW - 7_200, exp: NOW - 1 }),
    'never expiring': (it) => signed(Object.fromEntries(Object.entries(claimsOf(it)).filter(([name]) => name !== 'exp'))),
    unsigned: (it) => signed(claimsOf(it)).split('.').slice(0, 2).join('.'),
    'without its signature': (it) => `${signed(claimsOf(it)).split('.').slice(0, 2).join('.')}.`,
    'of alg none': (it) => `${part({ alg: 'none', typ: 'JWT', kid: keys().kid })}.${part(claimsOf(it))}.`,
    'of another algorithm': (it) => signed(claimsOf(it), { algorithm: 'HS384' }),
    'of another key': (it) => signed(claimsOf(it), { secret: Buffer.alloc(32, 7) }),
    'of a key nobody knows': (it) => signed(claimsOf(it), { keyid: 'feedfacefeedface' }),
    'without a key': (it) => jwt.sign(claimsOf(it), { secret: keys().secret }),
    'for another audience': withClaims({ aud: 'agent-office' }),
    'from another issuer': withClaims({ iss: 'somebody' }),
    'of another workspace': (it) => signed({ ...claimsOf(it), workspace: there.workspaceId }),
    'of another agent': (it) => signed({ ...claimsOf(it), agent: ids.foreign.agent }),
    'with a role nobody has': withClaims({ role: 'owner' }),
    'with an id that is none': withClaims({ run: 'x' }),
    truncated: (it) => it.token.slice(0, -1),
    changed: (it) => it.token.replace(/\.(.)/, (_, letter: string) => `.${letter === 'e' ? 'f' : 'e'}`),
    'a person’s': () => here.office.token,
    garbage: () => 'x',
    'too long': (it) => it.token + 'a'.repeat(8_000),
  };

  it.each(ACTION_NAMES.flatMap((action) => Object.keys(TOKENS).map((kind) => ({ action, kind }))))(
    '$action with a token $kind',
    async ({ action, kind }) => {
      const token = TOKENS[kind]!(worker);
      const before = await worker.log();
      const [route, body] = SAMPLES[action].request(ids.own);
      const [method, path] = route.split(' ');
      const answer = await here.office.app.ask(`${method} /api/v1/runtime${path}`, { token, ...(body === undefined ? {} : { body }) });
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ error: kind === 'missing' ? 'missing runtime token' : 'invalid runtime token' });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(await worker.log()).toEqual(before);
    },
  );

  it('with a body that cannot be read: nobody learns of that who may not come in, and who may has it in the log', async () => {
    const it = await here.worker({ role: 'ceo', permissions: { allow: ['delete_skills'] } });
    for (const action of ACTION_NAMES) {
      const [route] = SAMPLES[action].request({ ...ids.own, task: it.run.taskId!, agent: it.run.agentId });
      const [method, path] = route.split(' ');
      if (method === 'GET' || method === 'DELETE') continue;
      const ask = (token: string | undefined) => here.office.app.ask(`${method} /api/v1/runtime${path}`, { token, body: '{"no json' });
      expect([action, (await ask(undefined)).status, (await ask('garbage')).status]).toEqual([action, 401, 401]);
      const answer = await ask(it.token);
      expect([action, answer.status, answer.body.code]).toEqual([action, 400, 'invalid_json']);
      expect((await it.log()).at(-1)).toMatchObject({ event_type: 'runtime.denied', payload: { action, error: 'invalid_json' } });
    }
  });

  const STATES: Readonly<Record<string, (it: Worker) => Promise<unknown>>> = {
    finished: (it) => here.office.complete(it.run),
    failed: (it) => here.office.fail(it.run),
    'being stopped': (it) => here.office.must(`POST /runs/${it.run.runId}/cancel`),
    'of a task that was given to another': async (it) =>
      here.office.must(`PATCH /tasks/${it.run.taskId}`, { assignee_agent_instance_id: await here.agent() }),
    'of a task that is cancelled': (it) => here.office.must(`PATCH /tasks/${it.run.taskId}`, { state: 'cancelled' }),
    'of an agent that was archived': (it) => here.office.must(`DELETE /agents/${it.run.agentId}`),
    'claimed anew': (it) => here.office.rows(`update runs set generation = generation + 1 where id = $1`, it.run.runId),
  };
  it.each(Object.entries(STATES))('every action of a run that is %s, from that moment on', async (_, end) => {
    const it = await here.worker({ role: 'ceo', permissions: { allow: ['delete_skills'] } });
    expect((await it.ask('GET /me')).status).toBe(200);
    await end(it);
    const before = await it.log();
    for (const action of ACTION_NAMES) {
      const [route, body] = SAMPLES[action].request({ ...ids.own, task: it.run.taskId!, agent: it.run.agentId });
      const answer = await it.ask(route, body);
      expect([action, answer.status, answer.body]).toEqual([action, 401, { error: 'invalid runtime token' }]);
    }
    expect(await it.log()).toEqual(before);
  });
});

describe('the routes for agents', () => {
  it('are exactly the actions, each behind all guards in their order', () => {
    const routes = routeInventory(here.office.app.app).filter(({ access }) => access.startsWith('run'));
    const declared = RUNTIME_ACTIONS.map(({ declared: { route } }) => route.replace(' ', ' /api/v1/runtime/'));
    expect(
      routes
        .map(({ method, path }) => `${method} ${path}`)
        .filter((route) => !route.endsWith(' /mcp'))
        .toSorted(),
    ).toEqual(declared.toSorted());
    for (const { guards, handler } of routes) expect([handler, guards]).toEqual([handler, RUN_GUARDS.map(({ name }) => name)]);
  });

  it('let no person in, and people’s routes no agent', async () => {
    const ceo = as('ceo', CAPABILITIES);
    const people = routeInventory(here.office.app.app).filter(
      ({ access }) => !access.startsWith('run') && access !== 'public' && !access.startsWith('loopback'),
    );
    expect(people.length).toBeGreaterThan(40);
    for (const { method, path } of people) {
      const url = path.replace(':ws', here.workspaceId).replaceAll(/:\w+/g, ids.own.task);
      const answer = await here.office.app.ask(`${method} ${url}`, { token: ceo.token, ...(method === 'GET' ? {} : { body: {} }) });
      expect([method, path, answer.status]).toEqual([method, path, 401]);
    }
  });
});
