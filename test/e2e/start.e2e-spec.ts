import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compileProgram, isRoot, NOBODY, nobodyCanRunNode } from '../support/foundation-process.js';
import { cloneDatabase } from '../support/office-db.js';
import { newDataDir, privateFolder, processOfPostgres, query, refusal, start } from '../support/start-up.js';

let program: string;
beforeAll(async () => {
  program = await compileProgram('test/support/foundation-holder.ts');
});

const accounts = [
  { who: isRoot ? 'root' : 'an ordinary user', identity: null, possible: true },
  { who: 'an ordinary user', identity: NOBODY, possible: nobodyCanRunNode },
];

/** All twenty with `npm run test:faults`. In threes: killed while it starts, killed after its PostgreSQL, killed at work. */
const KILLS = process.env.OFFICE_FAULTS === 'full' ? 20 : 5;

describe.each(accounts.filter(({ possible }) => possible))('the foundation, as $who', ({ identity }) => {
  it(`comes up after each of ${KILLS} kill -9, at any moment, with every row that was committed`, async () => {
    const OFFICE_DATA_DIR = newDataDir(identity);
    const acknowledged = new Map<string, number>();
    const hosts = new Set<string>();
    for (let round = 0; round < KILLS; round++) {
      const office = start(program, { OFFICE_DATA_DIR }, identity);
      if (round % 3 === 0) {
        // While it sets up, starts or recovers.
        await Promise.race([pause(100 + Math.random() * 500), office.ready()]);
      } else {
        await office.ready();
        await office.until(() => office.written >= 3);
        await pause(Math.random() * 50);
        if (round % 3 === 1) process.kill(processOfPostgres(office), 'SIGKILL');
      }
      await office.kill('SIGKILL');
      const host = office.said.find(({ ready }) => ready)?.host;
      if (!host) continue;
      acknowledged.set(host.bootId, office.written);
      hosts.add(host.id);
    }

    const { databaseUrl } = await start(program, { OFFICE_DATA_DIR }, identity).ready();
    const kept = await query<{ boot: string; rows: number; last: number }>(
      databaseUrl,
      'select boot, count(*)::int as rows, max(n) as last from written group by boot',
    );
    // Every round but those that were cut short on purpose.
    expect(acknowledged.size).toBeGreaterThanOrEqual(Math.floor((KILLS * 2) / 3));
    expect(hosts.size).toBe(1);
    for (const [boot, written] of acknowledged) {
      const { rows, last } = kept.find((each) => each.boot === boot) ?? { rows: 0, last: 0 };
      expect(rows).toBe(last);
      expect(last).toBeGreaterThanOrEqual(written);
    }
  }, 300_000);

  it('keeps its state to itself and leaves no process behind', async () => {
    const OFFICE_DATA_DIR = newDataDir(identity);
    const office = start(program, { OFFICE_DATA_DIR }, identity);
    const { databaseUrl } = await office.ready();
    const modes = ['.', 'state', 'postgres'].map((name) => statSync(join(OFFICE_DATA_DIR, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o700]);
    expect(statSync(join(OFFICE_DATA_DIR, 'state', 'postgres-password')).mode & 0o777).toBe(0o600);
    const [setting] = await query<{ fsync: string; synchronous_commit: string; full_page_writes: string }>(
      databaseUrl,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit, current_setting('full_page_writes') as full_page_writes`,
    );
    expect(setting).toEqual({ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' });
    const password = new URL(databaseUrl);
    password.password = 'guess';
    await expect(query(password.href, 'select 1')).rejects.toThrow(/password authentication failed/);

    const postgres = processOfPostgres(office);
    expect(await office.kill('SIGTERM')).toBe(0);
    expect(office.stderr).toBe('');
    expect(existsSync(`/proc/${postgres}`)).toBe(false);
    expect(existsSync(join(OFFICE_DATA_DIR, 'postgres', 'postmaster.pid'))).toBe(false);
  });
});

it('refuses a second server on a data dir, whatever its database, and the first does not notice', async () => {
  const OFFICE_DATA_DIR = newDataDir();
  const first = start(program, { OFFICE_DATA_DIR });
  await first.ready();
  for (const OFFICE_DATABASE_URL of ['', 'postgres://nobody@127.0.0.1:1/nothing']) {
    expect(await refusal(start(program, { OFFICE_DATA_DIR, OFFICE_DATABASE_URL }))).toMatch(
      /^Another server \(process \d+\) is using the data dir .+office\. Stop it, or set OFFICE_DATA_DIR\.$/,
    );
  }
  const before = first.written;
  await first.until(() => first.written > before + 3);
});

describe('the migration program', () => {
  it('migrates the embedded database and ends, but refuses while a server holds the data dir', async () => {
    const migrate = await compileProgram('src/migrate.main.ts');
    const OFFICE_DATA_DIR = newDataDir();
    const told = execFileSync(process.execPath, [migrate], { env: { ...process.env, OFFICE_DATA_DIR }, encoding: 'utf8' });
    expect(told).toMatch(/The database is up to date\.\n$/);
    const server = start(program, { OFFICE_DATA_DIR });
    await server.ready();
    expect(server.logged).toEqual(['embedded PostgreSQL started']);
    expect(await refusal(start(migrate, { OFFICE_DATA_DIR }))).toMatch(/^Another server /);
  });
});

it('lets several servers, each with a data dir of its own, share a database', async () => {
  const { url, drop } = await cloneDatabase({ empty: true });
  onTestFinished(drop);
  const servers = [newDataDir(), newDataDir(), newDataDir()].map((OFFICE_DATA_DIR) =>
    start(program, { OFFICE_DATA_DIR, OFFICE_DATABASE_URL: url }),
  );
  const ready = await Promise.all(servers.map((server) => server.ready()));
  expect(new Set(ready.map(({ host }) => host.id)).size).toBe(3);
  expect(servers.flatMap(({ logged }) => logged).filter((phrase) => phrase === 'database migrated')).toHaveLength(1);
});

describe('a data dir that cannot be used', () => {
  it('refuses a place that is no folder in one line', async () => {
    const dir = privateFolder();
    writeFileSync(join(dir, 'file'), '');
    expect(await refusal(start(program, { OFFICE_DATA_DIR: join(dir, 'file') }))).toMatch(/^The data dir .+ cannot be used: E/);
  });

  it.runIf(nobodyCanRunNode)('refuses a folder of somebody else in one line', async () => {
    const dir = privateFolder();
    chmodSync(dir, 0o755);
    expect(await refusal(start(program, { OFFICE_DATA_DIR: join(dir, 'office') }, NOBODY))).toMatch(
      /^The data dir .+ cannot be used: EACCES/,
    );
  });

  it('leaves the mode of a folder that others keep things in alone', async () => {
    const dir = privateFolder();
    writeFileSync(join(dir, 'file'), '');
    chmodSync(dir, 0o755);
    await start(program, { OFFICE_DATA_DIR: dir }).ready();
    expect(statSync(dir).mode & 0o777).toBe(0o755);
    expect(statSync(join(dir, 'state')).mode & 0o777).toBe(0o700);
  });
});
