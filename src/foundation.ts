import type { LoggerService } from '@nestjs/common';
import { databaseOptions } from './database-options.js';
import { SystemClock } from './platform/clock/system-clock.js';
import type { OfficeSettings } from './platform/config/office-settings.js';
import { EmbeddedPostgres } from './platform/database/embedded/embedded-postgres.js';
import { migrate } from './platform/database/migrate.js';
import { checkServer } from './platform/database/reach-database.js';
import { DataDir, type HostIdentity } from './platform/state/data-dir.js';

/** What must stand before the office can be built: its folder, held by us alone, and a migrated database. */
export interface Foundation {
  readonly databaseUrl: string;
  readonly state: DataDir;
  readonly host: HostIdentity;
  /** Stops the embedded PostgreSQL, if that is what we have, then lets go of the folder. */
  close(): Promise<void>;
}

type FoundationSettings = Pick<OfficeSettings, 'OFFICE_DATA_DIR' | 'OFFICE_DATABASE_URL'>;

/** Throws a `StartError` whose message is the one line to print; nothing is left behind then. */
export async function openFoundation(settings: FoundationSettings, logger: LoggerService): Promise<Foundation> {
  const clock = new SystemClock();
  const state = await DataDir.open(settings.OFFICE_DATA_DIR);
  const closing: (() => Promise<void>)[] = [() => state.close()];
  const close = async (): Promise<void> => {
    for (let step = closing.pop(); step; step = closing.pop()) await step();
  };
  try {
    let databaseUrl = settings.OFFICE_DATABASE_URL;
    if (databaseUrl === undefined) {
      const password = (await state.stateSecret('postgres-password', 24)).toString('base64url');
      const postgres = await EmbeddedPostgres.start({ dataDir: state.path, password, clock, logger });
      closing.push(() => postgres.stop());
      databaseUrl = postgres.url;
    } else {
      await checkServer(databaseUrl);
    }
    await migrate(databaseOptions(databaseUrl, { poolSize: 1, statementTimeoutMs: 0 }), logger);
    return { databaseUrl, state, host: state.host, close };
  } catch (error) {
    await close();
    throw error;
  }
}
