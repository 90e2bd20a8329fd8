import { stat } from 'node:fs/promises';
import { StartError } from '../../errors/start-error.js';
import { whenThere } from '../../state/durable-file.js';
import { runToEnd, type Account } from './run-to-end.js';

const USER = 'postgres';

/**
 * Null when PostgreSQL runs as the office itself does. It refuses to run as root, so root hands it to whoever owns the
 * cluster already (a machine may have changed its numbers since), and a new cluster to the user `postgres`, made when missing.
 */
export async function postgresAccount(clusterDir: string): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  const existing = await whenThere(stat(clusterDir));
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  const known = await accountOf(USER);
  if (known) return known;
  const made = await runToEnd('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', USER], {
    account: null,
    deadlineMs: 30_000,
  });
  const account = await accountOf(USER);
  if (account) return account;
  throw new StartError(
    `PostgreSQL does not run as root, and a user "${USER}" for it could not be made: ${made.said}. ` +
      `Make that user, start the office as an ordinary user, or set OFFICE_DATABASE_URL.`,
  );
}

async function accountOf(user: string): Promise<Account | null> {
  const ask = (what: string) => runToEnd('id', [what, user], { account: null, deadlineMs: 10_000 });
  const [uid, gid] = await Promise.all([ask('-u'), ask('-g')]);
  return uid.code === 0 && gid.code === 0 ? { uid: Number(uid.stdout), gid: Number(gid.stdout) } : null;
}
