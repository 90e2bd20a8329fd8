import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../src/access/domain/route-access.js';
import { newId } from '../../src/platform/ids.js';
import { routeInventory, type RouteEntry } from '../support/route-inventory.js';
import { wholeOffice, type WholeOffice } from '../support/whole-office.js';

const PEOPLE = ['stranger', 'member', 'workspace admin', 'instance admin'] as const;
type Someone = (typeof PEOPLE)[number];

/** Every route for people x who they are x what their token is for: of the whole office, so that no route can be left out. */
describe('the routes for people', () => {
  let office: WholeOffice;
  let app: NestFastifyApplication;
  let routes: RouteEntry[];
  let adminToken: string;
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    office = await wholeOffice();
    app = office.app;
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    routes = routeInventory(app).filter(({ access }) => !access.startsWith('run'));
    adminToken = await office.adminToken();
    for (const who of PEOPLE) {
      const { id } = await must('POST /users', { name: who, is_instance_admin: who === 'instance admin' });
      for (const scope of SCOPES)
        tokens.set(`${who} ${scope}`, (await must(`POST /users/${id}/tokens`, { label: 't', scopes: [scope] })).token!);
      tokens.set(who, id!);
    }
  }, 120_000);
  afterAll(() => office?.close());

  async function ask(route: string, token: string | undefined, body?: unknown, from = '192.0.2.7') {
    const [method, url] = route.split(' ') as [never, string];
    const answer = await app.inject({
      method,
      url,
      remoteAddress: from,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, text: answer.payload };
  }
  async function must(route: string, body?: unknown): Promise<Record<string, string>> {
    const answer = await ask(route.replace(' ', ' /api/v1'), adminToken, body);
    if (answer.status >= 300) throw new Error(`${route}: ${answer.text}`);
    return (answer.text === '' ? {} : JSON.parse(answer.text)) as Record<string, string>;
  }

  /** A workspace of its own for each question, because what is allowed may take things away. */
  async function aPlace(): Promise<Readonly<Record<string, string>>> {
    const { id: workspaces } = await must('POST /workspaces', { name: 'Acme' });
    await must(`PUT /workspaces/${workspaces}/members/${tokens.get('member')}`, { role: 'member' });
    await must(`PUT /workspaces/${workspaces}/members/${tokens.get('workspace admin')}`, { role: 'admin' });
    const { id: agents } = await must(`POST /workspaces/${workspaces}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock' });
    const { id: tasks } = await must(`POST /workspaces/${workspaces}/tasks`, { title: 'Door' });
    const { id: skills } = await must(`POST /workspaces/${workspaces}/skills`, { slug: 's', name: 's', description: 's', content: 's' });
    const { id: projects } = await must(`POST /workspaces/${workspaces}/projects`, { name: 'House' });
    const [runs, sessions, approvals, repositories] = [newId(), newId(), newId(), newId()];
    const db = app.get(DataSource);
    const [{ id: workflows }] = await db.query<[{ id: string }]>(`select id from workflows where workspace_id = $1`, [workspaces]);
    await db.query(
      `with h as (
         insert into hosts (id, boot_id, name, max_executions) values ($2, gen_random_uuid(), 'den', 1) returning id
       ), r as (
         insert into repositories (id, workspace_id, host_id, name, path) select $2, $1, id, 'doors', '/nowhere' from h returning id, host_id
       ) insert into task_folders (task_id, workspace_id, host_id, path, repository_id) select $3, $1, host_id, '/nowhere/task', id from r`,
      [workspaces, repositories, tasks],
    );
    await db.query(
      `insert into task_sessions (id, workspace_id, agent_id, task_id, state, adapter) values ($1, $2, $3, $4, 'IDLE', 'mock')`,
      [sessions, workspaces, agents, tasks],
    );
    await db.query(
      `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement) values ($1, $2, $3, $4, 'queued', 'manual_run', 0, 'none')`,
      [runs, workspaces, agents, tasks],
    );
    await db.query(`insert into approvals (id, workspace_id, type, agent_id, run_id, reason) values ($1, $2, 'generic', $3, $4, 'x')`, [
      approvals,
      workspaces,
      agents,
      runs,
    ]);
    return {
      workspaces: workspaces!,
      agents: agents!,
      tasks: tasks!,
      skills: skills!,
      projects: projects!,
      workflows,
      worktrees: tasks!,
      repositories,
      runs,
      sessions,
      approvals,
    };
  }

  /** Contract 12 and the wire document, said once more. Null: the door lets them through. */
  function refusal(access: string, method: string, who: Someone, scope: Scope): 403 | 404 | null {
    const isAdmins = access.startsWith('workspace_admin') || access.includes('instance_admin');
    const needed = isAdmins ? 2 : method === 'GET' ? 0 : 1;
    const scopeIsEnough = SCOPES.indexOf(scope) >= needed;
    if (access.includes(' of ')) {
      if (who === 'stranger' || who === 'instance admin') return 404;
      if (access.startsWith('workspace_admin') && who !== 'workspace admin') return 403;
    } else if (access.includes('instance_admin') && who !== 'instance admin') return 403;
    // Metrics are for scrapers, which are handed tokens that may only read.
    if (access === 'loopback_or_instance_admin') return null;
    return scopeIsEnough ? null : 403;
  }

  function urlOf({ access, path }: RouteEntry, place: Readonly<Record<string, string>>): string {
    const [, kind, param] = / of (\w+) :(\w+)/.exec(access) ?? [];
    const named = kind === undefined ? path : path.replace(`:${param}`, place[kind] ?? newId());
    return named.replaceAll(/:\w+/g, () => newId());
  }

  it.each(PEOPLE)(
    'let a %s in where they may, with the token for it, and nowhere else',
    async (who) => {
      const wrong: string[] = [];
      let place = await aPlace();
      let spent = false;
      for (const route of routes.filter(({ access }) => access !== 'public')) {
        for (const scope of SCOPES) {
          const expected = refusal(route.access, route.method, who, scope);
          if (spent) place = await aPlace();
          spent = expected === null && route.method !== 'GET';
          const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : {};
          const { status, text } = await ask(`${route.method} ${urlOf(route, place)}`, tokens.get(`${who} ${scope}`), body);
          // A server that has no host yet has nothing to drain, and says so.
          const passed = (status < 500 || text.includes('office_not_open')) && status !== 401 && (status !== 403 || isOwn(route));
          const isRight = expected === null ? passed : status === expected;
          if (!isRight)
            wrong.push(
              `${route.method} ${route.path} (${route.access}) as ${who} with ${scope}: ${status} ${text.slice(0, 200)}, expected ${expected ?? 'to pass'}`,
            );
        }
      }
      expect(wrong).toEqual([]);
    },
    240_000,
  );

  /** What a person may do to their own only, the route itself decides. */
  const isOwn = ({ path }: RouteEntry): boolean => path === '/api/v1/tokens/:id';

  it('let nobody in without a token, or with one that is none', async () => {
    const place = await aPlace();
    for (const route of routes.filter(({ access }) => access !== 'public')) {
      for (const token of [undefined, 'office_nobody', 'eyJhbGciOiJub25lIn0.e30.']) {
        const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : {};
        const { status } = await ask(`${route.method} ${urlOf(route, place)}`, token, body);
        expect([route.method, route.path, status]).toEqual([route.method, route.path, 401]);
      }
      if (route.method === 'GET' || route.method === 'DELETE') continue;
      // What was sent is nobody's business before it is known whose it is.
      for (const authorization of [undefined, 'Bearer office_nobody']) {
        const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) };
        const { statusCode } = await app.inject({ method: route.method as never, url: urlOf(route, place), headers, payload: '{"no json' });
        expect([route.method, route.path, statusCode]).toEqual([route.method, route.path, 401]);
      }
    }
  });
});
