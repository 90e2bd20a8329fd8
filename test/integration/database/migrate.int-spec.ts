import type { LoggerService } from '@nestjs/common';
import pg from 'pg';
import type { DataSourceOptions, MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseOptions } from '../../../src/database-options.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { StartError } from '../../../src/platform/errors/start-error.js';
import { cloneDatabase } from '../../support/office-db.js';

class Slow1796000000101 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('create table slow (at timestamptz not null default now())');
    await db.query('select pg_sleep(0.5)');
    await db.query('insert into slow default values');
  }
  async down(): Promise<void> {}
}

class Broken1796000000102 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('create table half_done ()');
    await db.query('select * from a_table_that_is_not_there');
  }
  async down(): Promise<void> {}
}

let url: string;
let drop: () => Promise<void>;
let lines: string[];
beforeEach(async () => {
  ({ url, drop } = await cloneDatabase({ empty: true }));
  lines = [];
});
afterEach(() => drop());

const tell = (_facts: object, phrase: string): void => void lines.push(phrase);
const logger: LoggerService = { log: tell, warn: tell, error: tell };

const optionsWith = (...migrations: (new () => MigrationInterface)[]): DataSourceOptions =>
  ({ ...databaseOptions(url, { poolSize: 1, statementTimeoutMs: 0 }), migrations }) as DataSourceOptions;

async function rows(sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<pg.QueryResultRow>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('the migrations', () => {
  it('refuse a database that a newer program migrated, and leave it as it is', async () => {
    await migrate(optionsWith(Slow1796000000101), logger);
    await rows(`insert into office_migrations (timestamp, name) values (1999, 'FromTheFuture1999000000000')`);
    await expect(migrate(optionsWith(Slow1796000000101, Broken1796000000102), logger)).rejects.toThrow(
      /was migrated by a newer version of the office \(FromTheFuture1999000000000\)\. Start that version, or restore an older backup\.$/,
    );
    expect(await rows(`select to_regclass('half_done') as there`)).toEqual([{ there: null }]);
  });

  it('are run once by several servers that start together; the others wait', async () => {
    await Promise.all(Array.from({ length: 5 }, () => migrate(optionsWith(Slow1796000000101), logger)));
    expect(await rows('select count(*)::int as n from slow')).toEqual([{ n: 1 }]);
    expect(await rows('select name from office_migrations')).toEqual([{ name: 'Slow1796000000101' }]);
    expect(lines.filter((line) => line === 'database migrated')).toHaveLength(1);
    expect(lines.filter((line) => line === 'another server is migrating the database, waiting for it')).toHaveLength(4);
  });

  it('say nothing and change nothing when there is nothing to do', async () => {
    await migrate(databaseOptions(url, { poolSize: 1 }), logger);
    lines = [];
    await migrate(databaseOptions(url, { poolSize: 1 }), logger);
    expect(lines).toEqual([]);
  });

  it('leave nothing of one that fails, say why in one line, and let the next server try', async () => {
    const attempt = migrate(optionsWith(Slow1796000000101, Broken1796000000102), logger);
    await expect(attempt).rejects.toThrow(StartError);
    await expect(attempt).rejects.toThrow(/^The database at .+ cannot be used: relation "a_table_that_is_not_there" does not exist\.$/);
    expect(await rows(`select to_regclass('half_done') as there`)).toEqual([{ there: null }]);
    await migrate(optionsWith(Slow1796000000101), logger);
  });
});
