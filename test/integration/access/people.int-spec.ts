import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aPerson, aToken, aWorkspace, openFrontDesk } from '../../support/front-desk.js';
import type { OfficeApp } from '../../support/office-app.js';

describe('people', () => {
  let office: OfficeApp;
  beforeAll(async () => void (office = await openFrontDesk()));
  afterAll(() => office.close());

  it('tells who one is and where one has a role', async () => {
    const ben = await aPerson(office, { name: 'Ben' });
    const workspace = await aWorkspace(office, [[ben, 'member']]);
    await aWorkspace(office);
    const me = await office.ask('GET /api/v1/me', { token: ben.token });
    expect(me.body).toEqual({ user: { id: ben.id, name: 'Ben' }, workspaces: [{ id: workspace, name: 'Acme', role: 'member' }] });
  });

  it('keeps only the hash of a token', async () => {
    const { token } = await aPerson(office);
    expect(token).toMatch(/^office_[A-Za-z0-9_-]{43}$/);
    const kept = await office.rows<{ text: string }>(`select row_to_json(t)::text as text from access_tokens t`);
    expect(JSON.stringify(kept)).not.toContain(token);
  });

  it('refuses to make a token for the office itself, or for nobody', async () => {
    const body = { label: 'x', scopes: ['read'] };
    for (const id of ['00000000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000000', 'admin', '%00']) {
      const answer = await office.ask(`POST /api/v1/users/${id}/tokens`, { token: office.adminToken, body });
      expect([answer.status, answer.body.code], id).toEqual([404, 'not_found']);
    }
  });

  it.each([
    [{ label: 'x', scopes: [] }, 'scopes'],
    [{ label: 'x', scopes: ['read', 'read'] }, 'scopes'],
    [{ label: 'x', scopes: ['root'] }, 'scopes'],
    [{ label: 'x', scopes: 'read' }, 'scopes'],
    [{ label: '', scopes: ['read'] }, 'label'],
    [{ label: 'x', scopes: ['read'], expires_at: null }, 'expires_at'],
    [{ label: 'x', scopes: ['read'], expires_at: 'tomorrow' }, 'expires_at'],
    [{ label: 'x', scopes: ['read'], expires_at: '2090-02-30T00:00:00Z' }, 'expires_at'],
    [{ label: 'x', scopes: ['read'], expires_at: '0000-01-01T00:00:00Z' }, 'expires_at'],
    [{ label: 'x', scopes: ['read'], expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ label: 'x', scopes: ['read'], expires_in: 5 }, 'expires_in'],
  ])('refuses the token %j', async (body, path) => {
    const { id } = await aPerson(office);
    const answer = await office.ask(`POST /api/v1/users/${id}/tokens`, { token: office.adminToken, body });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect(answer.body.fields).toEqual(expect.arrayContaining([expect.objectContaining({ path })]));
  });

  it('lets a person delete a token of their own, at once, and again', async () => {
    const ann = await aPerson(office);
    const other = await aToken(office, ann.id, ['read']);
    const [row] = await office.rows<{ id: string }>(`select id from access_tokens where user_id = $1 and scopes = '{read}'`, [ann.id]);
    expect((await office.ask('GET /api/v1/me', { token: other })).status).toBe(200);
    expect((await office.ask(`DELETE /api/v1/tokens/${row!.id}`, { token: ann.token })).status).toBe(204);
    expect((await office.ask('GET /api/v1/me', { token: other })).status).toBe(401);
    expect((await office.ask(`DELETE /api/v1/tokens/${row!.id}`, { token: ann.token })).status).toBe(204);
  });

  it("hides other people's tokens, but an instance admin may delete them", async () => {
    const [ann, ben] = [await aPerson(office), await aPerson(office)];
    const [row] = await office.rows<{ id: string }>(`select id from access_tokens where user_id = $1`, [ben.id]);
    const path = `DELETE /api/v1/tokens/${row!.id}`;
    expect((await office.ask(path, { token: ann.token })).body.code).toBe('not_found');
    const weak = await aPerson(office, { isInstanceAdmin: true, scopes: ['write'] });
    expect((await office.ask(path, { token: weak.token })).body.code).toBe('forbidden');
    expect((await office.ask('GET /api/v1/me', { token: ben.token })).status).toBe(200);
    expect((await office.ask(path, { token: office.adminToken })).status).toBe(204);
    expect((await office.ask('GET /api/v1/me', { token: ben.token })).status).toBe(401);
  });

  it('shows the text of a token once: repeated under its key, the answer comes without it', async () => {
    const ann = await aPerson(office);
    const request = { token: office.adminToken, body: { label: 'once', scopes: ['read'] }, headers: { 'idempotency-key': 'token-1' } };
    const first = await office.ask(`POST /api/v1/users/${ann.id}/tokens`, request);
    const again = await office.ask(`POST /api/v1/users/${ann.id}/tokens`, request);
    expect(again.status).toBe(201);
    expect(again.body).toEqual({ ...first.body, token: null });
    const kept = await office.rows(`select answer::text from idempotency_keys`);
    expect(JSON.stringify(kept)).not.toContain(first.body.token);
  });
});
