import type { LoggerService } from '@nestjs/common';
import { SystemClock } from './platform/clock/system-clock.js';
import type { OfficeSettings } from './platform/config/office-settings.js';
import { EmbeddedPostgres } from './platform/database/embedded/embedded-postgres.js';
import { runningEmbeddedUrl } from './platform/database/embedded/running-embedded.js';
import { checkServer } from './platform/database/reach-database.js';
import { StartError } from './platform/errors/start-error.js';
import { DataDir } from './platform/state/data-dir.js';
import { FolderLocked } from './platform/state/folder-lock.js';

export interface OpenDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The office's database as it is, not migrated, for commands that look after it. With `shared`, also the embedded one of a server that
 * runs on the data dir; without, such a server is refused.
 */
export async function databaseOf(
  settings: Pick<OfficeSettings, 'OFFICE_DATA_DIR' | 'OFFICE_DATABASE_URL'>,
  logger: LoggerService,
  { shared }: { readonly shared: boolean },
): Promise<OpenDatabase> {
  const { OFFICE_DATABASE_URL: url, OFFICE_DATA_DIR: dataDir } = settings;
  if (url !== undefined) {
    await checkServer(url);
    return { url, close: () => Promise.resolve() };
  }
  let state: DataDir;
  try {
    state = await DataDir.open(dataDir);
  } catch (error) {
    const isRunning = error instanceof StartError && error.cause instanceof FolderLocked;
    if (!isRunning || !shared) throw error;
    return { url: await runningEmbeddedUrl(dataDir), close: () => Promise.resolve() };
  }
  try {
    const password = (await state.stateSecret('postgres-password', 24)).toString('base64url');
    const postgres = await EmbeddedPostgres.start({ dataDir: state.path, password, clock: new SystemClock(), logger });
    return {
      url: postgres.url,
      close: async () => {
        await postgres.stop();
        await state.close();
      },
    };
  } catch (error) {
    await state.close();
    throw error;
  }
}
