import 'reflect-metadata';
import { ConsoleLogger } from '@nestjs/common';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import type { TestProject } from 'vitest/node';
import { databaseOptions } from '../../src/database-options.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { EmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a fully migrated database that nobody is connected to, to be cloned. */
    templateUrl: string;
  }
}

/** One PostgreSQL for the whole run, whichever ring asks first. Its data dies with it, so it may be careless with them. */
export default async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if ('templateUrl' in vitest.getProvidedContext()) return undefined;
  const dataDir = mkdtempSync(join(tmpdir(), 'office-test-'));
  const postgres = await EmbeddedPostgres.start({
    dataDir,
    password: 'test',
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 300 },
    clock: new SystemClock(),
    logger: new ConsoleLogger({ logLevels: ['error'] }),
  });
  const template = await new DataSource(databaseOptions(postgres.url, { poolSize: 1 })).initialize();
  await template.runMigrations();
  await template.destroy();
  vitest.provide('templateUrl', postgres.url);
  return async () => {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
