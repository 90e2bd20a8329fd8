import { createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { reachDatabase } from '../database/reach-database.js';
import { StartError } from '../errors/start-error.js';
import { syncFolder } from '../state/durable-file.js';
import { END_OF_TABLE, frame, lineOf, MAGIC, type BackupHeader } from './backup-format.js';

const FRAME_BYTES = 256 * 1024;

/** Tables of the office, without the list of migrations, which the header has. Generated columns fill themselves. */
const TABLES = `
  select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> $1
   group by c.relname order by c.relname`;

export interface BackupDone {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes the whole database to a new file, mode 0600, as it was at one moment: a single REPEATABLE READ transaction that neither waits
 * for writers nor keeps them waiting. The file appears when it is whole. Throws a `StartError` when it is there already.
 */
export async function writeBackup(url: string, path: string, migrationsTable: string): Promise<BackupDone> {
  const client = await reachDatabase(url);
  const temporary = `${path}.unfinished`;
  try {
    // The name is taken first: of two that want it, one is told before its work.
    const target = await open(path, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
      throw new StartError(cause.code === 'EEXIST' ? `${path} is there already.` : `${path} cannot be written: ${cause.message}.`, {
        cause,
      });
    });
    await target.close();
    try {
      const done = await write(client, temporary, migrationsTable);
      await rename(temporary, path);
      await syncFolder(dirname(path));
      return done;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  } finally {
    await rm(temporary, { force: true });
    await client.end().catch(() => undefined);
  }
}

async function write(client: pg.Client, path: string, migrationsTable: string): Promise<BackupDone> {
  await client.query('begin transaction isolation level repeatable read, read only');
  await client.query(`set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`);
  const header = await headerOf(client, migrationsTable);
  const rows: Record<string, number> = {};
  await pipeline(
    Readable.from(contents(client, header, rows), { objectMode: false }),
    createGzip(),
    createWriteStream(path, { mode: 0o600, flush: true }),
  );
  await client.query('commit');
  return { rows: Object.values(rows).reduce((sum, n) => sum + n, 0), bytes: (await stat(path)).size };
}

/** The whole stream; fills `rows` on the way. */
async function* contents(client: pg.Client, header: BackupHeader, rows: Record<string, number>): AsyncGenerator<Buffer> {
  yield Buffer.from(`${MAGIC}\n`);
  yield lineOf(header);
  for (const { name, columns } of header.tables) {
    const names = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
    const copied = client.query(copyTo(`copy ${pg.escapeIdentifier(name)} (${names}) to stdout`));
    for await (const bytes of together(copied as AsyncIterable<Buffer>)) yield frame(bytes);
    yield END_OF_TABLE;
    rows[name] = copied.rowCount;
  }
  yield lineOf({ rows });
}

/** PostgreSQL sends a row at a time; a frame holds many. */
async function* together(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    bytes += chunk.length;
    if (bytes < FRAME_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function headerOf(client: pg.Client, migrationsTable: string): Promise<BackupHeader> {
  const { rows: known } = await client.query<{ known: boolean }>(`select to_regclass($1) is not null as known`, [migrationsTable]);
  if (!known[0]!.known) throw new StartError('There is no office in this database.');
  const { rows: facts } = await client.query<{ taken_at: Date; server_version: string }>(
    `select now() as taken_at, current_setting('server_version') as server_version`,
  );
  const { rows: migrations } = await client.query<{ name: string }>(`select name from ${pg.escapeIdentifier(migrationsTable)} order by id`);
  const { rows: tables } = await client.query<{ name: string; columns: string[] }>(TABLES, [migrationsTable]);
  const { taken_at, server_version } = facts[0]!;
  return { taken_at: taken_at.toISOString(), server_version, migrations: migrations.map(({ name }) => name), tables };
}
