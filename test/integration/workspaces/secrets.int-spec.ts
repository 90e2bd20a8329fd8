import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SecretStore } from '../../../src/workspaces/secret-store.service.js';
import { aPerson, aWorkspace, openFrontDesk } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import type { OfficeApp } from '../../support/office-app.js';

const VALUE = 'sk-live-42/äöü🦊 "quoted"\nand a second line';

describe('secrets', () => {
  let office: OfficeApp;
  let admin: SomePerson;
  let member: SomePerson;
  let workspace: string;
  let other: string;
  beforeAll(async () => {
    office = await openFrontDesk();
    [admin, member] = [await aPerson(office), await aPerson(office)];
    workspace = await aWorkspace(office, [
      [admin, 'admin'],
      [member, 'member'],
    ]);
    other = await aWorkspace(office, [[admin, 'admin']]);
  });
  afterAll(() => office.close());
  const path = (name = '', of = workspace) => `/api/v1/workspaces/${of}/secrets${name && `/${name}`}`;
  const put = (name: string, value: unknown, of = workspace) =>
    office.ask(`PUT ${path(name, of)}`, { token: admin.token, body: { value } });
  const open = async (of: string, names: string[], from = office) => {
    const { values, missing, unreadable } = await from.app.get(SecretStore).open(of, names);
    return { values: Object.fromEntries(values), missing, unreadable };
  };

  it('go in, come out for the launcher only, and are never said again', async () => {
    const answers = [await put('API_KEY', VALUE), await put('API_KEY', VALUE), await office.ask(`GET ${path()}`, { token: admin.token })];
    expect(answers[0]!.body).toEqual({ name: 'API_KEY', created_at: expect.any(String), updated_at: expect.any(String) });
    expect(await open(workspace, ['API_KEY'])).toEqual({ values: { API_KEY: VALUE }, missing: [], unreadable: [] });
    const stored = await office.rows(`select row_to_json(s)::text, encode(ciphertext, 'escape') from workspace_secrets s`);
    const everything = JSON.stringify([answers, stored, office.log]);
    for (const trace of [
      'sk-live-42',
      'c2stbGl2ZS00',
      Buffer.from('sk-live-42').toString('hex'),
      createHash('sha256').update(VALUE).digest('hex'),
    ]) {
      expect(everything).not.toContain(trace);
    }
  });

  it('have no route that reads one', async () => {
    await put('API_KEY', VALUE);
    expect((await office.ask(`GET ${path('API_KEY')}`, { token: admin.token })).body.code).toBe('route_not_found');
  });

  it('are refused without repeating what was sent', async () => {
    for (const body of [
      { value: 5 },
      { value: '' },
      { value: 'a\u0000sk-live' },
      { value: 'sk-live'.repeat(5_000) },
      { value: 'x', name: 'sk-live' },
      {},
    ]) {
      const answer = await office.ask(`PUT ${path('BAD')}`, { token: admin.token, body });
      expect(answer.status).toBe(400);
      expect(answer.text).not.toContain('sk-live');
    }
    expect(await office.rows(`select 1 from workspace_secrets where name = 'BAD'`)).toEqual([]);
  });

  it.each(['1A', 'A-B', 'a.b', '%00', 'A%20B', 'ä', 'x'.repeat(101)])('cannot be called %s', async (name) => {
    for (const method of ['PUT', 'DELETE']) {
      const answer = await office.ask(`${method} ${path(encodeURIComponent(decodeURIComponent(name)))}`, {
        token: admin.token,
        ...(method === 'PUT' && { body: { value: 'x' } }),
      });
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    }
  });

  it('are named to members, set and deleted by admins', async () => {
    await put('SHARED', 'x');
    expect((await office.ask(`GET ${path()}`, { token: member.token })).text).toContain('"SHARED"');
    expect((await office.ask(`PUT ${path('SHARED')}`, { token: member.token, body: { value: 'y' } })).status).toBe(403);
    expect((await office.ask(`DELETE ${path('SHARED')}`, { token: member.token })).status).toBe(403);
    expect((await office.ask(`DELETE ${path('SHARED')}`, { token: admin.token })).status).toBe(204);
    expect((await office.ask(`DELETE ${path('SHARED')}`, { token: admin.token })).status).toBe(404);
  });

  it('are sealed anew each time, so that equal values cannot be told', async () => {
    await put('ONE', 'same');
    await put('TWO', 'same');
    const before = await office.rows<{ ciphertext: Buffer; nonce: Buffer }>(
      `select ciphertext, nonce from workspace_secrets where name in ('ONE', 'TWO')`,
    );
    expect(before[0]!.ciphertext.equals(before[1]!.ciphertext)).toBe(false);
    await put('ONE', 'same');
    const [after] = await office.rows<{ nonce: Buffer }>(`select nonce from workspace_secrets where name = 'ONE'`);
    expect(before.some(({ nonce }) => nonce.equals(after!.nonce))).toBe(false);
  });

  it('stay in their workspace and under their name: a row that was moved or changed does not open', async () => {
    await put('MINE', 'mine');
    expect(await open(other, ['MINE'])).toEqual({ values: {}, missing: ['MINE'], unreadable: [] });
    await office.rows(
      `insert into workspace_secrets select $2, name, nonce, ciphertext, tag from workspace_secrets where workspace_id = $1 and name = 'MINE'`,
      [workspace, other],
    );
    await office.rows(
      `insert into workspace_secrets select workspace_id, 'COPY', nonce, ciphertext, tag from workspace_secrets where workspace_id = $1 and name = 'MINE'`,
      [workspace],
    );
    expect(await open(other, ['MINE'])).toEqual({ values: {}, missing: [], unreadable: ['MINE'] });
    expect(await open(workspace, ['COPY', 'MINE', 'NONE', 'NONE'])).toEqual({
      values: { MINE: 'mine' },
      missing: ['NONE'],
      unreadable: ['COPY'],
    });
    await office.rows(`update workspace_secrets set tag = '\\x00' where name = 'MINE'`);
    expect((await open(workspace, ['MINE'])).unreadable).toEqual(['MINE']);
    expect(await open(workspace, [])).toEqual({ values: {}, missing: [], unreadable: [] });
  });

  it('are listed in the order of their names, page by page', async () => {
    const own = await aWorkspace(office, [[admin, 'admin']]);
    for (const name of ['b', 'A', '_x', 'a', 'B']) await put(name, 'x', own);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await office.ask(`GET ${path('', own)}?limit=2${cursor && `&cursor=${cursor}`}`, { token: admin.token });
      seen.push(...(page.body.items as { name: string }[]).map(({ name }) => name));
      cursor = page.body.next_cursor as string | null;
    }
    expect(seen).toEqual(['A', 'B', '_x', 'a', 'b']);
  });

  describe('and their key', () => {
    it('lies in a file for the owner alone and outlives a restart', async () => {
      await put('KEPT', 'kept');
      const file = join(office.dataDir, 'state', 'secrets-key');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const again = await openFrontDesk({ databaseUrl: office.databaseUrl, dataDir: office.dataDir });
      expect((await open(workspace, ['KEPT'], again)).values).toEqual({ KEPT: 'kept' });
      await again.close({ keep: true });
      expect(office.log.join('')).not.toContain((await readFile(file, 'utf8')).trim());
    });

    it('may come from the environment; with another one, nothing opens and nothing breaks', async () => {
      const env = { OFFICE_SECRETS_KEY: 'k'.repeat(32) };
      const first = await openFrontDesk({ env });
      const id = await aWorkspace(first);
      await first.ask(`PUT ${path('X', id)}`, { token: first.adminToken, body: { value: 'x' } });
      await expect(readFile(join(first.dataDir, 'state', 'secrets-key'))).rejects.toThrow('ENOENT');
      const same = await openFrontDesk({ env, databaseUrl: first.databaseUrl });
      expect((await open(id, ['X'], same)).values).toEqual({ X: 'x' });
      const wrong = await openFrontDesk({ env: { OFFICE_SECRETS_KEY: 'l'.repeat(32) }, databaseUrl: first.databaseUrl });
      expect(await open(id, ['X'], wrong)).toEqual({ values: {}, missing: [], unreadable: ['X'] });
      for (const office of [same, wrong]) await office.close({ keep: true });
      await first.close();
    });

    it('is not replaced when its file is damaged: the start says so and stops', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'office-key-'));
      await mkdir(join(dataDir, 'state'));
      await writeFile(join(dataDir, 'state', 'secrets-key'), 'half of i');
      await expect(openFrontDesk({ dataDir })).rejects.toThrow('is damaged');
      expect(await readFile(join(dataDir, 'state', 'secrets-key'), 'utf8')).toBe('half of i');
      await rm(dataDir, { recursive: true });
    });
  });
});
