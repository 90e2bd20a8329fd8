import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { inject } from 'vitest';
import { databaseOptions } from '../../src/database-options.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { Nudges } from '../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';

export interface OfficeDb {
  readonly url: string;
  readonly dataSource: DataSource;
  readonly nudges: Nudges;
  readonly unitOfWork: UnitOfWork;
  close(): Promise<void>;
}

/** A database of one's own, migrated, cloned in tens of milliseconds. */
export async function openOfficeDb({ poolSize = 10 } = {}): Promise<OfficeDb> {
  const { url, drop } = await cloneDatabase();
  const dataSource = await new DataSource(databaseOptions(url, { poolSize })).initialize();
  const nudges = new Nudges(dataSource, new SystemClock());
  return {
    url,
    dataSource,
    nudges,
    unitOfWork: new UnitOfWork(dataSource, nudges, new SystemClock()),
    close: async () => {
      await dataSource.destroy();
      await drop();
    },
  };
}

/**
 * A pool for looking on. Its `end` does not wait for the other side: a connection may still be closing when the database is dropped or
 * its PostgreSQL stopped, and says so then (57P01); or both were cut off on purpose. What matters is said by the next query.
 */
export function openPool(url: string, max = 3, about: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, ...about });
  pool.on('error', () => undefined);
  return pool;
}

/** A migrated database without a connection to it, or an empty one. */
export async function cloneDatabase({ empty = false } = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const url = new URL(inject('templateUrl'));
  const template = url.pathname.slice(1);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  url.pathname = `/${name}`;
  await asAdmin(`create database ${name} template ${empty ? 'template0' : template}`);
  return { url: url.href, drop: () => asAdmin(`drop database ${name} with (force)`) };
}

async function asAdmin(sql: string): Promise<void> {
  const url = new URL(inject('templateUrl'));
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
