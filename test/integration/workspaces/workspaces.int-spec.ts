import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tx } from '../../../src/platform/database/tx.js';
import { newId } from '../../../src/platform/ids.js';
import { WorkspaceFurnishing } from '../../../src/workspaces/workspace-furnishing.js';
import { aPerson, aWorkspace, openFrontDesk } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import type { OfficeApp } from '../../support/office-app.js';

/** Writes one row, tells of it, and fails when a test says so. */
class Furniture extends WorkspaceFurnishing {
  breaks = false;
  override async furnish(tx: Tx, workspaceId: string): Promise<void> {
    await tx.query(`insert into workflows (id, workspace_id, name, style, is_office_default) values ($1, $2, 'Office', 'office', true)`, [
      newId(),
      workspaceId,
    ]);
    tx.emit('office.task.updated', { task_id: newId(), fields: [] });
    if (this.breaks) throw new Error('no furniture today');
  }
}

describe('workspaces', () => {
  const furniture = new Furniture();
  let office: OfficeApp;
  let admin: SomePerson;
  let member: SomePerson;
  let workspace: string;
  beforeAll(async () => {
    office = await openFrontDesk({ providers: [{ provide: WorkspaceFurnishing, useValue: furniture }] });
    [admin, member] = [await aPerson(office, { name: 'Ada' }), await aPerson(office, { name: 'Mia' })];
    workspace = await aWorkspace(office, [
      [admin, 'admin'],
      [member, 'member'],
    ]);
  });
  afterAll(() => office.close());
  const create = (body: unknown, headers: Record<string, string> = {}) =>
    office.ask('POST /api/v1/workspaces', { token: office.adminToken, body, headers });

  describe('making one', () => {
    it('gives it settings, an event counter, its maker as admin, and its furniture', async () => {
      const made = await create({ name: 'Acme Rocket Works' });
      const id = String(made.body.id);
      expect([made.status, made.body]).toEqual([
        201,
        { id, name: 'Acme Rocket Works', task_prefix: 'ARW', role: 'admin', stopped_at: null, created_at: made.body.created_at },
      ]);
      expect((await office.ask(`GET /api/v1/workspaces/${id}`, { token: office.adminToken })).body).toEqual(made.body);
      expect((await office.ask(`GET /api/v1/workspaces/${id}/settings`, { token: office.adminToken })).body).toEqual({
        agent_failure_threshold: 3,
        require_approval_for_new_agents: true,
        resume_interrupted: 'ask',
        wait_for_reset: 'off',
      });
      expect(await office.rows(`select last_seq from office_event_counters where workspace_id = $1`, [id])).toEqual([{ last_seq: '1' }]);
      expect(await office.rows(`select name from workflows where workspace_id = $1`, [id])).toEqual([{ name: 'Office' }]);
    });

    it('leaves nothing behind when the furniture fails', async () => {
      furniture.breaks = true;
      const answer = await create({ name: 'Doomed' });
      furniture.breaks = false;
      expect(answer.body.code).toBe('internal_error');
      expect(await office.rows(`select 1 from workspaces where name = 'Doomed'`)).toEqual([]);
    });

    it('happens once under a key', async () => {
      const first = await create({ name: 'Once' }, { 'idempotency-key': 'w' });
      const again = await create({ name: 'Once' }, { 'idempotency-key': 'w' });
      expect(again.text).toBe(first.text);
      expect(await office.rows(`select 1 from workspaces where name = 'Once'`)).toHaveLength(1);
    });

    it.each([
      [{}],
      [{ name: '' }],
      [{ name: '   ' }],
      [{ name: 'x'.repeat(201) }],
      [{ name: 'x', task_prefix: 'ab' }],
      [{ name: 'x', task_prefix: '' }],
      [{ name: 'x', task_prefix: 'A'.repeat(11) }],
      [{ name: 'x', task_prefix: 'A\n' }],
      [{ name: 'x', id: newId() }],
    ])('is refused for %j', async (body) => expect((await create(body)).body.code).toBe('validation_failed'));

    it.each(['株式会社', '🦊', "O'Neil; drop table users --", 'ﷺ', 'Ⅷ', 'ß'])('finds a prefix for the name %s', async (name) => {
      expect((await create({ name })).status).toBe(201);
    });
  });

  it('are listed for those who have a role, page by page, skipping and repeating none', async () => {
    const ann = await aPerson(office);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await aWorkspace(office, [[ann, 'member']]));
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await office.ask(`GET /api/v1/workspaces?limit=2${cursor && `&cursor=${cursor}`}`, { token: ann.token });
      seen.push(...(page.body.items as { id: string }[]).map(({ id }) => id));
      cursor = page.body.next_cursor as string | null;
      if (seen.length === 2) ids.push(await aWorkspace(office, [[ann, 'member']]));
    }
    expect(seen).toEqual(ids);
  });

  describe('settings', () => {
    const path = () => `/api/v1/workspaces/${workspace}/settings`;

    it('change where the body says so, and only there', async () => {
      const changed = await office.ask(`PATCH ${path()}`, {
        token: admin.token,
        body: { agent_failure_threshold: 5, require_approval_for_new_agents: false },
      });
      const expected = {
        agent_failure_threshold: 5,
        require_approval_for_new_agents: false,
        resume_interrupted: 'ask',
        wait_for_reset: 'off',
      };
      expect([changed.status, changed.body]).toEqual([200, expected]);
      const again = await office.ask(`PATCH ${path()}`, { token: admin.token, body: { resume_interrupted: 'auto', wait_for_reset: 'on' } });
      expect(again.body).toEqual({ ...expected, resume_interrupted: 'auto', wait_for_reset: 'on' });
      expect((await office.ask(`PATCH ${path()}`, { token: admin.token, body: {} })).body).toEqual(again.body);
      expect((await office.ask(`GET ${path()}`, { token: member.token })).body).toEqual(again.body);
    });

    it.each([
      { agent_failure_threshold: 0 },
      { agent_failure_threshold: 101 },
      { agent_failure_threshold: '3' },
      { agent_failure_threshold: null },
      { resume_interrupted: 'maybe' },
      { wait_for_reset: true },
      { require_approval_for_new_agents: 'no' },
      { name: 'x' },
    ])('refuse %j', async (body) => expect((await office.ask(`PATCH ${path()}`, { token: admin.token, body })).status).toBe(400));

    it('are not for members to change', async () => {
      expect((await office.ask(`PATCH ${path()}`, { token: member.token, body: {} })).status).toBe(403);
    });
  });

  describe('members', () => {
    const path = (user = '') => `/api/v1/workspaces/${workspace}/members${user && `/${user}`}`;
    const put = (user: string, role: string, token = admin.token) => office.ask(`PUT ${path(user)}`, { token, body: { role } });

    it('are listed with name and role', async () => {
      const listed = await office.ask(`GET ${path()}`, { token: member.token });
      expect(listed.body.items).toEqual(
        expect.arrayContaining([{ user: { id: member.id, name: 'Mia' }, role: 'member', created_at: expect.any(String) }]),
      );
      expect((listed.body.items as unknown[]).length).toBe(3);
      const one = await office.ask(`GET ${path()}?limit=1`, { token: member.token });
      expect(one.body.next_cursor).toEqual(expect.any(String));
    });

    it('are let in and changed by putting, as often as one likes', async () => {
      const ben = await aPerson(office, { name: 'Ben' });
      for (const role of ['member', 'admin', 'member', 'member']) {
        const answer = await put(ben.id, role);
        expect([answer.status, answer.body]).toMatchObject([200, { user: { id: ben.id, name: 'Ben' }, role }]);
      }
      expect((await office.ask(`DELETE ${path(ben.id)}`, { token: admin.token })).status).toBe(204);
      expect((await office.ask(`DELETE ${path(ben.id)}`, { token: admin.token })).status).toBe(404);
    });

    it('cannot be nobody, nor the office itself', async () => {
      for (const id of [newId(), 'x', '00000000-0000-7000-8000-000000000001']) expect((await put(id, 'member')).status).toBe(404);
      expect((await put(member.id, 'owner')).status).toBe(400);
    });

    it('are not for members to change, themselves included', async () => {
      expect((await put(member.id, 'admin', member.token)).status).toBe(403);
      expect((await office.ask(`DELETE ${path(member.id)}`, { token: member.token })).status).toBe(403);
    });

    it('keep at least one admin', async () => {
      const ada = await aPerson(office);
      const own = await aWorkspace(office, [[ada, 'admin']]);
      const [me] = await office.rows<{ id: string }>(`select id from users where name = 'admin'`);
      const at = (user: string) => `/api/v1/workspaces/${own}/members/${user}`;
      expect((await office.ask(`DELETE ${at(me!.id)}`, { token: ada.token })).status).toBe(204);
      for (const answer of [
        await office.ask(`DELETE ${at(ada.id)}`, { token: ada.token }),
        await office.ask(`PUT ${at(ada.id)}`, { token: ada.token, body: { role: 'member' } }),
      ]) {
        expect([answer.status, answer.body.code]).toEqual([409, 'last_admin']);
      }
    });

    it('keep one also when two admins remove each other at once, every time', async () => {
      for (let round = 0; round < 10; round++) {
        const [ada, bob] = [await aPerson(office), await aPerson(office)];
        const own = await aWorkspace(office, [
          [ada, 'admin'],
          [bob, 'admin'],
        ]);
        const [me] = await office.rows<{ id: string }>(`select id from users where name = 'admin'`);
        await office.ask(`DELETE /api/v1/workspaces/${own}/members/${me!.id}`, { token: ada.token });
        await Promise.all([
          office.ask(`DELETE /api/v1/workspaces/${own}/members/${bob.id}`, { token: ada.token }),
          office.ask(`DELETE /api/v1/workspaces/${own}/members/${ada.id}`, { token: bob.token }),
        ]);
        expect(await office.rows(`select 1 from workspace_members where workspace_id = $1 and role = 'admin'`, [own])).toHaveLength(1);
      }
    });
  });
});
