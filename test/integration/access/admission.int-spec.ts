import { Body, Controller, Get, Module, Param, Post } from '@nestjs/common';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Allow } from '../../../src/access/allow.decorator.js';
import { CurrentCall, WorkspaceId } from '../../../src/access/current-call.decorator.js';
import type { Call } from '../../../src/access/call.js';
import { newId } from '../../../src/platform/ids.js';
import { aPerson, aToken, aWorkspace, openFrontDesk } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import type { OfficeApp } from '../../support/office-app.js';

let bodiesSeen = 0;

@Controller('probe')
class Probe {
  @Get('undeclared')
  undeclared(): string {
    return 'must never be read';
  }
  @Get('public')
  @Allow('public')
  open(): object {
    return { open: true };
  }
  @Get('public-who')
  @Allow('public')
  openWho(@CurrentCall() call: Call): object {
    return { userId: call.person.userId };
  }
  @Get('no-workspace')
  @Allow('person')
  noWorkspace(@WorkspaceId() workspaceId: string): object {
    return { workspaceId };
  }
  @Get('agents/:id')
  @Allow('member', { of: 'agents', param: 'id' })
  agent(@WorkspaceId() workspaceId: string): object {
    return { workspaceId };
  }
  @Get('tasks/:id')
  @Allow('member', { of: 'tasks', param: 'id' })
  task(@WorkspaceId() workspaceId: string, @Param('id') id: string): object {
    return { workspaceId, id };
  }
  @Get('sessions/:id')
  @Allow('member', { of: 'sessions', param: 'id' })
  session(@WorkspaceId() workspaceId: string): object {
    return { workspaceId };
  }
  @Get('runs/:id')
  @Allow('member', { of: 'runs', param: 'id' })
  run(@WorkspaceId() workspaceId: string): object {
    return { workspaceId };
  }
  @Post('tasks/:id')
  @Allow('workspace_admin', { of: 'tasks', param: 'id' })
  change(@Body() body: object): object {
    bodiesSeen++;
    return body;
  }
}

@Module({ controllers: [Probe] })
class ProbeModule {}

/** One row of every kind a route may name, in one workspace. */
async function furnish(office: OfficeApp, workspace: string) {
  const ids = { workflow: newId(), step: newId(), agents: newId(), tasks: newId(), sessions: newId(), runs: newId() };
  const of = (sql: string, parameters: unknown[]) => office.rows(sql, [workspace, ...parameters]);
  await of(`insert into workflows (id, workspace_id, name, style) values ($2, $1, 'Office', 'office')`, [ids.workflow]);
  await of(`insert into workflow_steps (id, workspace_id, workflow_id, position, name, kind) values ($2, $1, $3, 1, 'Work', 'work')`, [
    ids.step,
    ids.workflow,
  ]);
  await of(`insert into agent_instances (id, workspace_id, name, handle, role, adapter) values ($2, $1, 'A', 'a', 'worker', 'mock')`, [
    ids.agents,
  ]);
  await of(
    `insert into tasks (id, workspace_id, number, identifier, title, workflow_id, step_id, created_by_kind) values ($2, $1, 1, 'ACM-1', 't', $3, $4, 'system')`,
    [ids.tasks, ids.workflow, ids.step],
  );
  await of(`insert into task_sessions (id, workspace_id, agent_id, task_id, adapter) values ($2, $1, $3, $4, 'mock')`, [
    ids.sessions,
    ids.agents,
    ids.tasks,
  ]);
  await of(
    `insert into runs (id, workspace_id, agent_id, task_id, reason, wake_class, entitlement) values ($2, $1, $3, $4, 'task_assigned', 1, 'assignee')`,
    [ids.runs, ids.agents, ids.tasks],
  );
  return ids;
}

const KINDS = ['agents', 'tasks', 'sessions', 'runs'] as const;

describe('admission', () => {
  let office: OfficeApp;
  let workspace: string;
  let elsewhere: string;
  let ids: Awaited<ReturnType<typeof furnish>>;
  let member: SomePerson;
  let admin: SomePerson;
  let stranger: SomePerson;

  beforeAll(async () => {
    office = await openFrontDesk({ modules: [ProbeModule] });
    [member, admin, stranger] = [await aPerson(office), await aPerson(office), await aPerson(office)];
    workspace = await aWorkspace(office, [
      [member, 'member'],
      [admin, 'admin'],
    ]);
    elsewhere = await aWorkspace(office, [[stranger, 'admin']]);
    ids = await furnish(office, workspace);
  });
  afterAll(() => office.close());

  const get = (path: string, token?: string) => office.ask(`GET /api/v1/${path}`, { token });

  it('refuses a route that does not say who may call it, to everyone, and says so in the log', async () => {
    for (const token of [undefined, member.token, office.adminToken]) {
      const answer = await get('probe/undeclared', token);
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    }
    expect(office.log.some((line) => line.includes('route without an access declaration') && line.includes('Probe.undeclared'))).toBe(true);
  });

  it('lets anyone through a public door, also with a bad credential, as nobody', async () => {
    expect((await get('probe/public')).status).toBe(200);
    expect((await get('probe/public', 'office_nonsense')).status).toBe(200);
    expect((await get('probe/public-who', office.adminToken)).body.code).toBe('internal_error');
  });

  it('gives no workspace to a route that names none', async () => {
    expect((await get('probe/no-workspace', member.token)).body.code).toBe('internal_error');
  });

  describe('401', () => {
    it.each([
      ['no credential', undefined],
      ['an empty one', ''],
      ['the scheme alone', 'Bearer'],
      ['the scheme and a space', 'Bearer '],
      ['garbage', 'Bearer office_garbage'],
      ['a well-formed token nobody has', `Bearer office_${'A'.repeat(43)}`],
      ['Basic', `Basic ${Buffer.from('admin:admin').toString('base64')}`],
      ['Digest', 'Digest username="admin"'],
      ['an SQL fragment', "Bearer ' or 1=1 --"],
      ['a runtime token of ours', 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZ2VudCJ9.c2lnbmF0dXJl'],
    ])('for %s', async (_, authorization) => {
      const answer = await office.ask('GET /api/v1/me', { headers: authorization === undefined ? {} : { authorization } });
      expect([answer.status, answer.body, answer.headers['www-authenticate']]).toEqual([
        401,
        { error: 'A valid access token is required.', code: 'unauthenticated' },
        'Bearer',
      ]);
    });

    it('for a good token under another scheme, twice, or with something behind it', async () => {
      const { token } = member;
      for (const authorization of [
        token,
        `Token ${token}`,
        `Bearer ${token} ${token}`,
        `Bearer ${token},Bearer ${token}`,
        `Bearer ${token}x`,
        `Bearer\t${token}`,
      ]) {
        const answer = await office.ask('GET /api/v1/me', { headers: { authorization } });
        expect(answer.status, authorization).toBe(401);
      }
      expect((await office.ask('GET /api/v1/me', { headers: { authorization: `bearer  ${token}` } })).status).toBe(200);
    });

    it('for a token in a query, a cookie or another header', async () => {
      const { token } = member;
      expect((await office.ask(`GET /api/v1/me?access_token=${token}`)).status).toBe(401);
      expect((await office.ask('GET /api/v1/me', { headers: { cookie: `token=${token}`, 'x-api-key': token } })).status).toBe(401);
    });

    it('for a token the moment it expires or is revoked', async () => {
      const ann = await aPerson(office);
      const token = await aToken(office, ann.id, ['read'], '2099-01-01T00:00:00Z');
      expect((await get('me', token)).status).toBe(200);
      await office.rows(`update access_tokens set expires_at = now() where user_id = $1 and expires_at is not null`, [ann.id]);
      expect((await get('me', token)).status).toBe(401);
      expect((await get('me', ann.token)).status).toBe(200);
      await office.rows(`update access_tokens set revoked_at = now() where user_id = $1`, [ann.id]);
      expect((await get('me', ann.token)).status).toBe(401);
    });

    it('for the hash of a token, as somebody who read the table would try', async () => {
      const [row] = await office.rows<{ hex: string; b64: string }>(
        `select encode(hash, 'hex') as hex, encode(hash, 'base64') as b64 from access_tokens where user_id = $1`,
        [member.id],
      );
      for (const text of [row!.hex, row!.b64, `office_${row!.b64}`]) expect((await get('me', text)).status).toBe(401);
    });

    it('and nothing else for whatever stands in the Authorization header', async () => {
      const visible = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 600 });
      const nearMiss = fc.tuple(fc.nat(member.token.length - 1), fc.constantFrom(...'abcXYZ019-_')).map(([at, letter]) => {
        const forged = member.token.slice(0, at) + letter + member.token.slice(at + 1);
        return forged === member.token ? 'Bearer x' : `Bearer ${forged}`;
      });
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            visible,
            visible.map((text) => `Bearer ${text}`),
            nearMiss,
          ),
          async (authorization) => {
            const answer = await office.ask('GET /api/v1/me', { headers: { authorization } });
            expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
          },
        ),
        { numRuns: 300 },
      );
    });
  });

  describe('404', () => {
    it.each(KINDS)("for a stranger's %s, exactly as for one that does not exist", async (kind) => {
      expect((await get(`probe/${kind}/${ids[kind]}`, member.token)).body).toMatchObject({ workspaceId: workspace });
      const theirs = await get(`probe/${kind}/${ids[kind]}`, stranger.token);
      const nobodys = await get(`probe/${kind}/${newId()}`, stranger.token);
      expect(theirs.status).toBe(404);
      expect(theirs.body).toEqual(nobodys.body);
    });

    it('for an instance admin without a role', async () => {
      const root = await aPerson(office, { isInstanceAdmin: true });
      expect((await get(`workspaces/${workspace}`, root.token)).status).toBe(404);
      expect((await get(`probe/tasks/${ids.tasks}`, root.token)).status).toBe(404);
    });

    it('for a stranger whose token would not suffice either: existence comes before scope', async () => {
      const reader = await aToken(office, stranger.id, ['read']);
      expect((await office.ask(`POST /api/v1/probe/tasks/${ids.tasks}`, { token: reader, body: {} })).status).toBe(404);
    });

    it.each(['x', 'null', '%00', '..%2f..', "' or true --", '018f0000', '{', '🦊', '0'.repeat(299)])('for the id %s', async (id) => {
      const answer = await get(`probe/tasks/${encodeURIComponent(decodeURIComponent(id))}`, member.token);
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
      expect((await get(`workspaces/${encodeURIComponent(decodeURIComponent(id))}`, member.token)).status).toBe(404);
    });

    it('for a deleted task', async () => {
      await office.rows(`update tasks set deleted_at = now(), title = '', description = null where id = $1`, [ids.tasks]);
      expect((await get(`probe/tasks/${ids.tasks}`, member.token)).status).toBe(404);
      await office.rows(`update tasks set deleted_at = null, title = 't' where id = $1`, [ids.tasks]);
      expect((await get(`probe/tasks/${ids.tasks}`, member.token)).status).toBe(200);
    });

    it('for an id of another kind', async () => {
      expect((await get(`probe/runs/${ids.tasks}`, member.token)).status).toBe(404);
    });
  });

  describe('403', () => {
    it('for a member at an admin door, before the body is looked at', async () => {
      const before = bodiesSeen;
      const answer = await office.ask(`POST /api/v1/probe/tasks/${ids.tasks}`, { token: member.token, body: {} });
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
      expect(bodiesSeen).toBe(before);
    });

    it.each([
      ['GET', 'read', 200],
      ['HEAD', 'read', 200],
      ['PATCH', 'read', 403],
      ['PATCH', 'write', 403],
      ['PATCH', 'admin', 200],
    ] as const)('%s of the settings by a workspace admin with scope %s: %i', async (method, scope, status) => {
      const token = await aToken(office, admin.id, [scope]);
      const answer = await office.ask(`${method} /api/v1/workspaces/${workspace}/settings`, {
        token,
        ...(method === 'PATCH' && { body: {} }),
      });
      expect(answer.status).toBe(status);
    });

    it('for a person where an instance admin is asked for, whatever the scope', async () => {
      for (const route of ['GET /api/v1/hosts', 'POST /api/v1/users', 'POST /api/v1/workspaces']) {
        const answer = await office.ask(route, { token: admin.token, ...(route.startsWith('POST') && { body: {} }) });
        expect([answer.status, answer.body.code], route).toEqual([403, 'forbidden']);
      }
    });
  });

  it('asks for the role anew with every request', async () => {
    const ben = await aPerson(office);
    const path = `workspaces/${workspace}`;
    const put = (role: string) => office.ask(`PUT /api/v1/${path}/members/${ben.id}`, { token: admin.token, body: { role } });
    expect((await get(path, ben.token)).status).toBe(404);
    await put('member');
    expect((await get(path, ben.token)).body).toMatchObject({ id: workspace, role: 'member' });
    expect((await office.ask(`PATCH /api/v1/${path}/settings`, { token: ben.token, body: {} })).status).toBe(403);
    await put('admin');
    expect((await office.ask(`PATCH /api/v1/${path}/settings`, { token: ben.token, body: {} })).status).toBe(200);
    await office.ask(`DELETE /api/v1/${path}/members/${ben.id}`, { token: admin.token });
    expect((await get(path, ben.token)).status).toBe(404);
    expect((await get('me', ben.token)).body).toMatchObject({ workspaces: [] });
  });

  it('takes a uuid in capitals for the same row', async () => {
    expect((await get(`probe/tasks/${ids.tasks.toUpperCase()}`, member.token)).body).toMatchObject({ workspaceId: workspace });
  });

  it('keeps workspaces apart', async () => {
    expect((await get(`workspaces/${elsewhere}`, member.token)).status).toBe(404);
    expect((await get(`workspaces/${elsewhere}`, stranger.token)).status).toBe(200);
  });
});
