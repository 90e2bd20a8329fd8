import type { LoggerService } from '@nestjs/common';
import type pg from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { StartError } from '../errors/start-error.js';
import { nameOf, reachDatabase, unusable } from './reach-database.js';

/** Of the session-level advisory lock that migrating servers hold. */
export const MIGRATING = [0x0ff1ce, 1] as const;
export const MIGRATIONS_TABLE = 'office_migrations';

/**
 * Brings the database to the schema this program was written for. Of several servers that start at once, one migrates and
 * the others wait. Refuses a database that knows migrations this program does not.
 */
export async function migrate(options: DataSourceOptions, logger: LoggerService): Promise<void> {
  const known = (options.migrations as { name: string }[]).map(({ name }) => name);
  const client = await reachDatabase((options as PostgresDataSourceOptions).url!);
  try {
    if ((await pending(client, known)).length === 0) return;
    await lock(client, logger);
    const names = await pending(client, known);
    if (names.length === 0) return;
    await run(options);
    logger.log({ migrations: names }, 'database migrated');
  } catch (cause) {
    throw unusable(client, cause);
  } finally {
    // Ends the lock, too.
    await client.end().catch(() => undefined);
  }
}

async function pending(client: pg.Client, known: readonly string[]): Promise<string[]> {
  const { rows: tables } = await client.query<{ exists: boolean }>(`select to_regclass($1) is not null as exists`, [MIGRATIONS_TABLE]);
  if (!tables[0]!.exists) return [...known];
  const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE} order by id`);
  const applied = rows.map(({ name }) => name);
  const newer = applied.filter((name) => !known.includes(name)).at(-1);
  if (newer !== undefined) {
    throw new StartError(
      `The database at ${nameOf(client)} was migrated by a newer version of the office (${newer}). Start that version, or restore an older backup.`,
    );
  }
  return known.filter((name) => !applied.includes(name));
}

async function lock(client: pg.Client, logger: LoggerService): Promise<void> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1, $2) as held', [...MIGRATING]);
  if (rows[0]!.held) return;
  logger.log({}, 'another server is migrating the database, waiting for it');
  await client.query(`set lock_timeout = '10min'`);
  await client.query('select pg_advisory_lock($1, $2)', [...MIGRATING]);
}

async function run(options: DataSourceOptions): Promise<void> {
  const dataSource = await new DataSource(options).initialize();
  try {
    await dataSource.runMigrations({ transaction: 'each' });
  } finally {
    await dataSource.destroy();
  }
}
