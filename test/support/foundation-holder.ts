import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import pg from 'pg';
import { openFoundation } from '../../src/foundation.js';
import { StartError } from '../../src/platform/errors/start-error.js';

/**
 * A server reduced to its foundation, for tests that kill it: opens it, says so on stdout as one line of JSON, then writes rows
 * as fast as it can and says the number of each one that was committed. Ends on SIGTERM, and in one line when it cannot start.
 */
try {
  const since = performance.now();
  const { OFFICE_DATA_DIR = '', OFFICE_DATABASE_URL } = process.env;
  const foundation = await openFoundation({ OFFICE_DATA_DIR, ...(OFFICE_DATABASE_URL && { OFFICE_DATABASE_URL }) }, logger());
  const { host, databaseUrl } = foundation;
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  // "If not exists" does not keep two servers of one database from creating it at once, and then one of them fails.
  await pool.query(
    `begin; select pg_advisory_xact_lock(1); create table if not exists written (boot uuid not null, n integer not null); commit`,
  );
  let stopping = false;
  process.once('SIGTERM', () => (stopping = true));
  say({ ready: true, ms: Math.round(performance.now() - since), host, databaseUrl });
  for (let n = 1; !stopping; n++) {
    const written = await pool.query('insert into written values ($1, $2)', [host.bootId, n]).then(
      () => true,
      () => false,
    );
    if (written) say({ written: n });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await pool.end();
  await foundation.close();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Every level alike, as lines among the others. */
function logger(): LoggerService {
  const log = (facts: object, phrase: string): void => say({ phrase, ...facts });
  return { log, warn: log, error: log };
}
