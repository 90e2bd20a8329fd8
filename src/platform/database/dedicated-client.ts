import pg from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Clock } from '../clock/clock.js';

const DEADLINE_MS = 5_000;
const GOODBYE_MS = 1_000;

/** A connection of one's own to the same database, not connected yet: for what a pooled one would not keep (LISTEN, session locks). */
export function dedicatedClient(dataSource: DataSource, name: string): pg.Client {
  const { url } = dataSource.options as PostgresDataSourceOptions;
  return new pg.Client({
    connectionString: url,
    application_name: `agent-office ${name}`,
    keepAlive: true,
    connectionTimeoutMillis: DEADLINE_MS,
    query_timeout: DEADLINE_MS,
  });
}

/** Says goodbye, and does not wait long for the answer: the other end may be gone. */
export async function endSoon(client: pg.Client, clock: Clock): Promise<void> {
  await Promise.race([client.end().catch(() => undefined), clock.sleep(GOODBYE_MS)]);
}
