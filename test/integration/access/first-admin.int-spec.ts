import { mkdtemp, readFile, rm, stat, writeFile, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessRepository } from '../../../src/access/access.repository.js';
import { FirstAdminService } from '../../../src/access/first-admin.service.js';
import { readSettings } from '../../../src/platform/config/office-settings.js';
import { newId } from '../../../src/platform/ids.js';
import { OfficeHost } from '../../../src/platform/office-host.js';
import { openFrontDesk } from '../../support/front-desk.js';
import type { OfficeApp, OfficeAppOptions } from '../../support/office-app.js';
import { cloneDatabase, openOfficeDb } from '../../support/office-db.js';

const GIVEN = 'given-by-the-operator-0123456789';

describe('the first admin', () => {
  let database: { url: string; drop(): Promise<void> };
  let dataDir: string;
  let hostId: string;
  const running: OfficeApp[] = [];

  beforeEach(async () => {
    database = await cloneDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'office-admin-'));
    hostId = newId();
  });
  afterEach(async () => {
    for (const office of running.splice(0)) await office.close({ keep: true });
    await database.drop();
    await rm(dataDir, { recursive: true });
  });

  async function start(options: Partial<OfficeAppOptions> = {}): Promise<OfficeApp> {
    const office = await openFrontDesk({ databaseUrl: database.url, dataDir, hostId, ...options });
    running.push(office);
    return office;
  }
  async function restart(office: OfficeApp, options: Partial<OfficeAppOptions> = {}): Promise<OfficeApp> {
    running.splice(running.indexOf(office), 1);
    await office.close({ keep: true });
    return start(options);
  }
  const statusOf = async (office: OfficeApp, token: string): Promise<number> => (await office.ask('GET /api/v1/hosts', { token })).status;
  const file = (): string => join(dataDir, 'admin-token');

  it('is made at the first start, its token in a file for the owner alone, and only the path in the log', async () => {
    const office = await start();
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(office.adminToken).toMatch(/^office_/);
    expect(await statusOf(office, office.adminToken)).toBe(200);
    const log = office.log.join('');
    expect(log).toContain(file());
    expect(log).not.toContain(office.adminToken);
  });

  it('stays as it is over a restart', async () => {
    const first = await start();
    const tokens = await first.rows(`select * from access_tokens`);
    const again = await restart(first);
    expect(again.adminToken).toBe(first.adminToken);
    expect(await again.rows(`select * from access_tokens`)).toEqual(tokens);
    expect(again.log.join('')).not.toContain('admin token written');
  });

  it('gets another token when the file was lost, and the old one is no longer good', async () => {
    const first = await start();
    await rm(file());
    const again = await restart(first);
    expect(again.adminToken).not.toBe(first.adminToken);
    expect(await statusOf(again, again.adminToken)).toBe(200);
    expect(await statusOf(again, first.adminToken)).toBe(401);
    expect(await again.rows(`select 1 from users where name = 'admin'`)).toHaveLength(1);
  });

  it.each(['', 'nonsense\n', `office_${'A'.repeat(43)}\n`])('makes another token of a file that holds %j', async (content) => {
    const first = await start();
    await writeFile(file(), content);
    const again = await restart(first);
    expect(await statusOf(again, again.adminToken)).toBe(200);
    expect(await statusOf(again, first.adminToken)).toBe(401);
  });

  it('closes a token file that somebody opened to others', async () => {
    const first = await start();
    await chmod(file(), 0o644);
    await restart(first);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
  });

  it('takes OFFICE_ADMIN_TOKEN instead from the first start, and writes no file', async () => {
    const office = await start({ env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    expect(await statusOf(office, GIVEN)).toBe(200);
    await expect(readFile(file())).rejects.toThrow('ENOENT');
    expect(office.log.join('')).not.toContain(GIVEN);
  });

  it('takes OFFICE_ADMIN_TOKEN later, at once, and the old token and its file are gone', async () => {
    const first = await start();
    const office = await restart(first, { env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    expect(await statusOf(office, GIVEN)).toBe(200);
    expect(await statusOf(office, first.adminToken)).toBe(401);
    await expect(readFile(file())).rejects.toThrow('ENOENT');
    const again = await restart(office, { env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    expect(await statusOf(again, GIVEN)).toBe(200);
  });

  it('takes one OFFICE_ADMIN_TOKEN after another, and the first again', async () => {
    const other = 'another-one-9876543210-abcdef';
    let office = await start({ env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    office = await restart(office, { env: { OFFICE_ADMIN_TOKEN: other } });
    expect([await statusOf(office, GIVEN), await statusOf(office, other)]).toEqual([401, 200]);
    office = await restart(office, { env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    expect([await statusOf(office, GIVEN), await statusOf(office, other)]).toEqual([200, 401]);
  });

  it('goes back to a file when OFFICE_ADMIN_TOKEN is taken away, and that token is no longer good', async () => {
    const first = await start({ env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    const office = await restart(first);
    expect(await statusOf(office, office.adminToken)).toBe(200);
    expect(await statusOf(office, GIVEN)).toBe(401);
  });

  it('does not bring back by a restart what a person revoked', async () => {
    const first = await start({ env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    const [row] = await first.rows<{ id: string }>(`select id from access_tokens where is_bootstrap`);
    expect((await first.ask(`DELETE /api/v1/tokens/${row!.id}`, { token: GIVEN })).status).toBe(204);
    const again = await restart(first, { env: { OFFICE_ADMIN_TOKEN: GIVEN } });
    expect(await statusOf(again, GIVEN)).toBe(401);
    expect(again.log.join('')).toContain('OFFICE_ADMIN_TOKEN was revoked');
    const without = await restart(again);
    expect(await statusOf(without, without.adminToken)).toBe(200);
  });

  it('does not make an ordinary token of somebody an admin token because it is given', async () => {
    const first = await start();
    const made = await first.ask('POST /api/v1/users', { token: first.adminToken, body: { name: 'Ann' } });
    const ordinary = await first.ask(`POST /api/v1/users/${made.body.id}/tokens`, {
      token: first.adminToken,
      body: { label: 'x', scopes: ['admin'] },
    });
    const token = String(ordinary.body.token);
    const again = await restart(first, { env: { OFFICE_ADMIN_TOKEN: token } });
    expect(await statusOf(again, token)).toBe(403);
    expect(await statusOf(again, first.adminToken)).toBe(200);
  });

  it('is one person for any number of servers that start at once, and every file opens the door', async () => {
    const db = await openOfficeDb();
    const dirs = await Promise.all(Array.from({ length: 8 }, () => mkdtemp(join(tmpdir(), 'office-admin-'))));
    const admins = dirs.map(
      (dir) => new FirstAdminService(db.unitOfWork, readSettings({ OFFICE_DATA_DIR: dir }), new OfficeHost(newId(), newId(), 'h')),
    );
    // Every one has a connection before the first begins; else they would queue up for them and never meet.
    await Promise.all(admins.map(() => db.unitOfWork.read(`select pg_sleep(0.2)`)));
    await Promise.all(admins.map((admin) => admin.onModuleInit()));
    const people = await db.unitOfWork.read<{ id: string }>(`select id from users where not is_reserved`);
    expect(people).toHaveLength(1);
    const access = new AccessRepository(db.unitOfWork);
    for (const dir of dirs) {
      const token = (await readFile(join(dir, 'admin-token'), 'utf8')).trim();
      expect(await access.personOf(token)).toMatchObject({ userId: people[0]!.id, isInstanceAdmin: true });
      await rm(dir, { recursive: true });
    }
    await db.close();
  });
});
