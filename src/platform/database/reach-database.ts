import pg from 'pg';
import { StartError } from '../errors/start-error.js';

const OLDEST_SERVER = 15;

/** A connection of one's own, or a `StartError` in one line. Whoever asks ends it. */
export async function reachDatabase(url: string): Promise<pg.Client> {
  let client: pg.Client;
  try {
    client = new pg.Client({ connectionString: url, application_name: 'agent-office start', connectionTimeoutMillis: 10_000 });
  } catch (cause) {
    throw new StartError('OFFICE_DATABASE_URL is no address of a database.', { cause });
  }
  // Told by the query that is under way, or by the next.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (cause) {
    throw unusable(client, cause);
  }
}

/** Refuses a PostgreSQL that is too old, and a proxy that hands every transaction to another connection. */
export async function checkServer(url: string): Promise<void> {
  const clients = [await reachDatabase(url)];
  const [client] = clients as [pg.Client];
  try {
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`);
    const version = rows[0]!.version;
    if (Number.parseInt(version, 10) < OLDEST_SERVER) {
      throw new StartError(`The database at ${nameOf(client)} is PostgreSQL ${version}; the office needs ${OLDEST_SERVER} or newer.`);
    }
    clients.push(await reachDatabase(url));
    if (await sharesConnections(clients)) {
      throw new StartError(
        `OFFICE_DATABASE_URL leads to a transaction-pooling proxy (${nameOf(client)}). ` +
          `The office needs connections of its own: use the database's own address, or session pooling.`,
      );
    }
  } catch (cause) {
    throw unusable(client, cause);
  } finally {
    await Promise.all(clients.map((each) => each.end().catch(() => undefined)));
  }
}

/**
 * Locks, LISTEN and settings belong to a connection. Behind such a proxy two of ours stand on the same one, or one of ours is moved
 * when another holds a transaction open where it stood.
 */
async function sharesConnections(clients: readonly pg.Client[]): Promise<boolean> {
  const stands = async (client: pg.Client): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return rows[0]!.pid;
  };
  const [first, second] = clients as [pg.Client, pg.Client];
  const before = await stands(first);
  await second.query('begin');
  if ((await stands(second)) === before) return true;
  return (await stands(first)) !== before;
}

/** `host:port/name`, never the password. */
export const nameOf = (client: pg.Client): string => `${client.host}:${client.port}/${client.database}`;

export function unusable(client: pg.Client, cause: unknown): StartError {
  if (cause instanceof StartError) return cause;
  const said = cause instanceof AggregateError ? (cause.errors as unknown[])[0] : cause;
  return new StartError(`The database at ${nameOf(client)} cannot be used: ${(said as Error).message}.`, { cause });
}
