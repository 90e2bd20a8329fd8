import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StartError } from '../../errors/start-error.js';
import { syncFolder, whenThere } from '../../state/durable-file.js';
import { runToEnd, type Account } from './run-to-end.js';

export const DATABASE_USER = 'office';

/**
 * How PostgreSQL is told where its cluster is: it is started inside it. Its user need not be able to enter the folders
 * above (as root, the office may live in a home only root may enter), because nothing ever walks the path from the top.
 */
export const clusterArgument = (clusterDir: string): string => (process.platform === 'linux' ? '/proc/self/cwd' : clusterDir);

/** Marks our postmaster on its command line. Device and inode: a moved cluster keeps them, a copied one does not. */
export async function clusterMark(clusterDir: string): Promise<string> {
  const { dev, ino } = await stat(clusterDir);
  return `agent_office.cluster=${dev}:${ino}`;
}

export interface NewCluster {
  readonly initdb: string;
  readonly account: Account | null;
  readonly password: string;
}

/** Makes the cluster unless there is one. It appears whole, by a rename: initdb leaves a half that passes for one when it is killed. */
export async function makeCluster(clusterDir: string, { initdb, account, password }: NewCluster): Promise<void> {
  if (await whenThere(stat(join(clusterDir, 'PG_VERSION')))) return;
  const parent = dirname(clusterDir);
  const unfinished = `${basename(clusterDir)}.new.`;
  for (const name of await readdir(parent)) {
    if (name.startsWith(unfinished)) await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5 });
  }
  await rmdir(clusterDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new StartError(`${clusterDir} holds something that is no PostgreSQL cluster: ${error.message}.`);
  });

  const fresh = join(parent, unfinished + randomBytes(6).toString('hex'));
  const passwordFile = `${fresh}.password`;
  try {
    await mkdir(fresh, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
    if (account) await Promise.all([fresh, passwordFile].map((path) => chown(path, account.uid, account.gid)));
    await initialise(fresh, passwordFile, initdb, account);
    await rename(fresh, clusterDir);
    await syncFolder(parent);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(fresh, { recursive: true, force: true });
  }
}

async function initialise(dir: string, passwordFile: string, initdb: string, account: Account | null): Promise<void> {
  // Handed over open: its user may not be able to walk there.
  const stdin = await open(passwordFile, 'r');
  try {
    const { code, said } = await runToEnd(
      initdb,
      [
        ['-D', clusterArgument(dir)],
        ['-U', DATABASE_USER, '--pwfile=/dev/stdin', '--auth=scram-sha-256', '--no-instructions'],
        // Sorts and folds alike on every machine, whatever its C library thinks of locales.
        ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ].flat(),
      { account, cwd: dir, stdin: stdin.fd, deadlineMs: 300_000 },
    );
    if (code !== 0) throw new StartError(`The embedded PostgreSQL cannot be set up: ${said.replaceAll(clusterArgument(dir), dir)}`);
  } finally {
    await stdin.close();
  }
}
