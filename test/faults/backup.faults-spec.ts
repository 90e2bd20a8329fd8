import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet, FLEET_TOKEN, hostIdOf, LEASE_SEC } from '../support/faults/fleet.js';
import { binariesOf, OwnPostgres } from '../support/faults/own-postgres.js';
import { report, SEED } from '../support/faults/report.js';
import { FINE, hire, Workload, type Staff } from '../support/faults/workload.js';
import { cloneDatabase, openPool } from '../support/office-db.js';
import { faults, RealServer, seeded, waitFor } from '../support/real-server.js';

const LOAD_MS = faults(60) * 1_000;
const folder = mkdtempSync(join(tmpdir(), 'office-backup-'));

/** The program's own command, as `npm run` calls it. */
function command(name: 'backup' | 'restore', file: string, env: Readonly<Record<string, string>>): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../dist/src', `${name}.main.js`), file], {
      env: { PATH: process.env['PATH'], ...env },
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.once('close', (code) => resolve({ code: code ?? -1, said }));
  });
}

const countsOf = async (db: pg.Pool): Promise<Record<string, number>> => {
  const { rows } = await db.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of rows) counts[name] = (await db.query<{ n: number }>(`select count(*)::int as n from "${name}"`)).rows[0]!.n;
  return counts;
};

const openPools: pg.Pool[] = [];
const poolOf = (url: string): pg.Pool => {
  const pool = openPool(url);
  openPools.push(pool);
  return pool;
};

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: pg.Pool;
let fleet: Fleet;
let staff: Staff;
beforeAll(async () => {
  database = await cloneDatabase();
  db = poolOf(database.url);
  fleet = await Fleet.open({ databaseUrls: [database.url], size: 2 });
  staff = await hire(fleet, { workspaces: 2, agents: 3 });
});
afterAll(async () => {
  await fleet?.dispose();
  for (const pool of openPools) await pool.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const busy = join(folder, 'busy.backup');
const still = join(folder, 'still.backup');
/** What the office at rest had, by table. */
let counts: Record<string, number>;

describe(`a backup of an office, seed ${SEED}`, () => {
  it(
    'is one moment of a busy one: every reference holds, no event is missing, and nobody waited for it',
    async () => {
      await fleet.must(`PUT /workspaces/${staff.workspaces[0]!}/secrets/KEY`, { value: 'hush hush hush' });
      const load = new Workload(fleet, staff, seeded(SEED)).start(3, 50);
      await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
      const before = load.requests;
      const { code, said } = await command('backup', busy, { OFFICE_DATABASE_URL: database.url });
      expect([code, said]).toEqual([0, expect.stringContaining('rows')]);
      expect(statSync(busy).mode & 0o777).toBe(0o600);
      expect(load.requests).toBeGreaterThan(before);
      await load.stop();

      const copy = await cloneDatabase({ empty: true });
      try {
        expect(await command('restore', busy, { OFFICE_DATABASE_URL: copy.url })).toMatchObject({ code: 0 });
        const restored = poolOf(copy.url);
        const { rows: gaps } = await restored.query(
          `select c.workspace_id from office_event_counters c
            where c.last_seq <> (select count(*) from office_events e where e.workspace_id = c.workspace_id)`,
        );
        expect(gaps).toEqual([]);
        const { rows: constraints } = await restored.query(`select conname from pg_constraint where not convalidated`);
        expect(constraints).toEqual([]);
        await restored.end();
        openPools.splice(openPools.indexOf(restored), 1);
      } finally {
        await copy.drop();
      }
      await report('backup under load', db, { load_ms: LOAD_MS, bytes: statSync(busy).size });
    },
    LOAD_MS + 120_000,
  );

  it('of one at rest restores to equal counts and equal rows', async () => {
    for (const { id } of staff.agents) await fleet.ask(`POST /agents/${id}/pause`, {});
    await waitFor(async () => (await db.query(`select from runs where status = 'running'`)).rowCount === 0, 30_000, 'the turns to end');
    for (const server of fleet.servers) await server.end('SIGTERM');
    counts = await countsOf(db);
    expect(await command('backup', still, { OFFICE_DATABASE_URL: database.url })).toMatchObject({ code: 0 });
    expect(await countsOf(db)).toEqual(counts);
  });

  it.each([15, 18])('is restored into an empty PostgreSQL %i, which starts, and goes on with its work', async (version) => {
    const binaries = version === 18 ? 'embedded' : binariesOf(version);
    if (binaries === null) {
      process.stdout.write(
        `no PostgreSQL ${version} on this machine: not restored into it (OFFICE_TEST_POSTGRES_${version} names a folder)\n`,
      );
      return;
    }
    const postgres = await OwnPostgres.start({ binaries, settings: { fsync: 'off' } });
    let server: RealServer | undefined;
    try {
      const url = postgres.urlOf(await postgres.create({ migrated: false }));
      expect(await command('restore', still, { OFFICE_DATABASE_URL: url })).toEqual({ code: 0, said: expect.any(String) });
      const restored = poolOf(url);
      const { rows } = await restored.query<{ v: string }>(`select current_setting('server_version') as v`);
      expect(Number.parseInt(rows[0]!.v, 10)).toBe(version);
      expect(await countsOf(restored)).toEqual(counts);
      const sums = (pool: pg.Pool) =>
        pool.query(`select md5(string_agg(r::text, '|' order by id)) as runs from runs r union all
                    select md5(string_agg(t::text, '|' order by id)) from tasks t union all
                    select md5(string_agg(e::text, '|' order by workspace_id, seq)) from office_events e`);
      expect((await sums(restored)).rows).toEqual((await sums(db)).rows);

      // On the host it was: its id, its secrets key, its folders.
      const home = mkdtempSync(join(tmpdir(), 'office-restored-'));
      mkdirSync(join(home, 'data', 'state'), { recursive: true, mode: 0o700 });
      for (const name of ['host-id', 'secrets-key']) {
        copyFileSync(join(fleet.servers[0]!.dataDir, 'state', name), join(home, 'data', 'state', name));
      }
      server = await RealServer.start({
        databaseUrl: url,
        home,
        // Its agents keep their conversations in their home: the host's own, or one below its work dir.
        env: {
          OFFICE_ADMIN_TOKEN: FLEET_TOKEN,
          OFFICE_LEASE_SEC: String(LEASE_SEC),
          OFFICE_WORK_DIR: fleet.servers[0]!.workDir,
          HOME: fleet.servers[0]!.home,
        },
      });
      expect((await server.must<{ items: { name: string }[] }>(`GET /workspaces/${staff.workspaces[0]!}/secrets`)).items).toMatchObject([
        { name: 'KEY' },
      ]);
      for (const { id } of staff.agents) await server.must(`POST /agents/${id}/unpause`);
      const agent = staff.agents[0]!;
      const { id: taskId } = await server.must<{ id: string; identifier: string }>(`POST /workspaces/${agent.workspaceId}/tasks`, {
        title: 'after the restore',
        description: FINE,
        assignee_agent_instance_id: agent.id,
      });
      await waitFor(
        async () => (await restored.query(`select from runs where task_id = $1 and status = 'completed'`, [taskId])).rowCount === 1,
        20_000,
        'new work to be done',
      );
      // A conversation from before goes on where it was.
      const { rows: begun } = await restored.query<{ task_id: string; agent_id: string; acp: string; turns: number }>(
        `select s.task_id, s.agent_id, s.acp_session_id as acp, s.turns from task_sessions s join task_folders f on f.task_id = s.task_id
           join tasks t on t.id = s.task_id
          where s.state = 'IDLE' and s.turns > 0 and f.host_id = $1 and t.state not in ('DONE', 'CANCELLED') limit 1`,
        [hostIdOf(fleet.servers[0]!)],
      );
      const { task_id, agent_id, acp, turns } = begun[0]!;
      await server.must(`PATCH /tasks/${task_id}`, { description: FINE });
      await server.must(`POST /agents/${agent_id}/runs`, { task_id });
      await waitFor(
        async () =>
          (await restored.query(`select from task_sessions where acp_session_id = $1 and turns > $2 and state = 'IDLE'`, [acp, turns]))
            .rowCount === 1,
        20_000,
        'the conversation to go on',
      );
      await server.end('SIGTERM');
      rmSync(home, { recursive: true, force: true });
      await restored.end();
      openPools.splice(openPools.indexOf(restored), 1);
    } finally {
      await server?.dispose();
      await postgres.dispose();
    }
  });

  it('is refused where it does not belong, and leaves an empty database empty', async () => {
    expect(await command('backup', still, { OFFICE_DATABASE_URL: database.url })).toMatchObject({
      code: 1,
      said: `${still} is there already.\n`,
    });
    const full = await command('restore', still, { OFFICE_DATABASE_URL: database.url });
    expect(full).toEqual({ code: 1, said: 'The database is not empty. Restore into an empty one.\n' });
    const copy = await cloneDatabase({ empty: true });
    try {
      const tablesOf = async (): Promise<number> => {
        const pool = openPool(copy.url, 1);
        const { rowCount } = await pool.query(`select from pg_class where relnamespace = 'public'::regnamespace`);
        await pool.end();
        return rowCount!;
      };
      const bytes = readFileSync(still);
      const text = gunzipSync(bytes);
      const magic = text.subarray(0, text.indexOf(0x0a) + 1);
      const headerEnd = text.indexOf(0x0a, magic.length) + 1;
      const header = JSON.parse(text.toString('utf8', magic.length, headerEnd)) as { migrations: string[] };
      const withMigrations = (migrations: string[]): Buffer =>
        gzipSync(Buffer.concat([magic, Buffer.from(`${JSON.stringify({ ...header, migrations })}\n`), text.subarray(headerEnd)]));
      const broken = Buffer.from(bytes);
      broken[Math.floor(broken.length / 2)]! ^= 0xff;
      const wrong: Record<string, [Buffer, RegExp]> = {
        cut: [bytes.subarray(0, Math.floor(bytes.length / 2)), /^This is no whole backup of an office: unexpected end of file\.\n$/],
        'cut between frames': [
          gzipSync(text.subarray(0, headerEnd + 100)),
          /^This is no whole backup of an office: it ends too early\.\n$/,
        ],
        damaged: [broken, /^This is no whole backup of an office/],
        'something else': [gzipSync(Buffer.from('hello\nworld\n')), /^This is no whole backup of an office: it begins with "hello"\.\n$/],
        newer: [withMigrations([...header.migrations, 'Later1999999999999']), /newer version \(Later1999999999999\)/],
        older: [withMigrations(header.migrations.slice(0, -1)), /older version/],
      };
      for (const [what, [content, said]] of Object.entries(wrong)) {
        const file = join(folder, 'wrong.backup');
        writeFileSync(file, content);
        const answer = await command('restore', file, { OFFICE_DATABASE_URL: copy.url });
        expect([what, answer.code]).toEqual([what, 1]);
        expect(answer.said, what).toMatch(said);
        expect(await tablesOf(), what).toBe(0);
      }
    } finally {
      await copy.drop();
    }
  }, 120_000);

  it('is made of the embedded database too, of a server that runs and of one that does not, and restored into another data dir', async () => {
    const server = await RealServer.start();
    const other = mkdtempSync(join(tmpdir(), 'office-restored-'));
    try {
      const { id } = await server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
      const env = { OFFICE_DATA_DIR: server.dataDir };
      const [running, stopped] = [join(folder, 'running.backup'), join(folder, 'stopped.backup')];
      expect(await command('backup', running, env)).toMatchObject({ code: 0 });
      expect((await command('restore', running, env)).said).toMatch(/is using the data dir/);
      await server.end('SIGTERM');
      expect(await command('backup', stopped, env)).toMatchObject({ code: 0 });
      expect(await command('restore', stopped, { OFFICE_DATA_DIR: join(other, 'data') })).toMatchObject({ code: 0 });
      const restored = await RealServer.start({ home: other });
      expect(await restored.must(`GET /workspaces/${id}`)).toMatchObject({ name: 'Acme' });
      await restored.end('SIGTERM');
    } finally {
      await server.dispose();
      rmSync(other, { recursive: true, force: true });
    }
  }, 120_000);
});
