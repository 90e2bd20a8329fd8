import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { DataSource, MigrationExecutor, type DataSourceOptions, type QueryRunner } from 'typeorm';
import { MIGRATING } from '../database/migrate.js';
import { StartError } from '../errors/start-error.js';
import { BackupReader, type BackupHeader } from './backup-format.js';

export interface Restored {
  readonly takenAt: string;
  readonly rows: Readonly<Record<string, number>>;
}

interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

/**
 * Fills an empty database from a backup: schema, rows and constraints in one transaction, so that it is empty again when anything is
 * wrong. Throws a `StartError` when the database is not empty, the file is not whole, or it was made by another version of the program.
 */
export async function restoreBackup(options: DataSourceOptions, path: string): Promise<Restored> {
  const file = await open(path).catch((cause: Error) => {
    throw new StartError(`${path} cannot be read: ${cause.message}.`, { cause });
  });
  await file.close();
  const source = createReadStream(path);
  const gunzip = createGunzip();
  // Errors of the file arrive where its bytes are read.
  source.on('error', (error) => gunzip.destroy(error));
  const reader = new BackupReader(source.pipe(gunzip));
  // COPY wants a connection on which nothing else is on its way.
  const dataSource = new DataSource({ ...options, extra: { ...options.extra, pipeline: false } } as DataSourceOptions);
  try {
    const header = await reader.header();
    assertSameSchema(header, options);
    await dataSource.initialize().catch((cause: Error) => {
      throw new StartError(`The database cannot be used: ${cause.message}.`, { cause });
    });
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    try {
      const rows = await fill(runner, dataSource, header, reader);
      await runner.commitTransaction();
      return { takenAt: header.taken_at, rows };
    } catch (error) {
      await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  } finally {
    source.destroy();
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}

function assertSameSchema({ migrations }: BackupHeader, options: DataSourceOptions): void {
  const known = (options.migrations as { name: string }[]).map(({ name }) => name);
  if (JSON.stringify(migrations) === JSON.stringify(known)) return;
  const stranger = migrations.find((name) => !known.includes(name));
  const which = stranger === undefined ? `an older version (up to ${migrations.at(-1)})` : `a newer version (${stranger})`;
  throw new StartError(`The backup was made by ${which} of the office. Restore it with that version, then upgrade.`);
}

async function fill(
  runner: QueryRunner,
  dataSource: DataSource,
  header: BackupHeader,
  reader: BackupReader,
): Promise<Record<string, number>> {
  await runner.query('select pg_advisory_xact_lock($1, $2)', [...MIGRATING]);
  const present = (await runner.query(
    `select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') limit 1`,
  )) as unknown[];
  if (present.length > 0) throw new StartError('The database is not empty. Restore into an empty one.');
  const migrations = new MigrationExecutor(dataSource, runner);
  migrations.transaction = 'all';
  await migrations.executePendingMigrations();

  // What migrations put there is in the backup as well.
  await runner.query(`truncate ${header.tables.map(({ name }) => pg.escapeIdentifier(name)).join(', ')}`);
  const foreignKeys = (await runner.query(
    `select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition
       from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace order by 1, 2`,
  )) as ForeignKey[];
  for (const { table, name } of foreignKeys) await runner.query(`alter table ${table} drop constraint ${pg.escapeIdentifier(name)}`);
  const rows: Record<string, number> = {};
  for (const { name, columns } of header.tables) {
    const table = pg.escapeIdentifier(name);
    // Rows come as they were: nothing that would react to a new one may.
    await runner.query(`alter table ${table} disable trigger user`);
    rows[name] = await copyIn(runner, table, columns, reader);
    await runner.query(`alter table ${table} enable trigger user`);
  }
  const footer = await reader.footer();
  for (const { name } of header.tables) {
    if (rows[name] !== footer.rows[name])
      throw new StartError(`The backup has ${footer.rows[name]} rows of ${name}, ${rows[name]} arrived.`);
  }
  for (const { table, name, definition } of foreignKeys) {
    await runner.query(`alter table ${table} add constraint ${pg.escapeIdentifier(name)} ${definition}`);
  }
  await runner.query('analyze');
  return rows;
}

async function copyIn(runner: QueryRunner, table: string, columns: readonly string[], reader: BackupReader): Promise<number> {
  const client = (await runner.connect()) as pg.ClientBase;
  const names = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
  const into = client.query(copyFrom(`copy ${table} (${names}) from stdin`));
  await pipeline(Readable.from(reader.table(), { objectMode: false }), into);
  return into.rowCount;
}
