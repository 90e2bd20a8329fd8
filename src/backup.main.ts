import 'reflect-metadata';
import { resolve } from 'node:path';
import { databaseOf } from './database-of.js';
import { writeBackup } from './platform/backup/write-backup.js';
import { readSettings, SettingsError } from './platform/config/office-settings.js';
import { MIGRATIONS_TABLE } from './platform/database/migrate.js';
import { StartError } from './platform/errors/start-error.js';
import { loggerFor } from './platform/logging/office-logger.js';

/** `npm run backup -- FILE`: the whole database as it is at this moment, while servers run or not. Exit code 0 when the file is whole. */
try {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new StartError('Say where to: npm run backup -- FILE');
  const settings = readSettings({ ...process.env, OFFICE_LOG_LEVEL: 'error' });
  const database = await databaseOf(settings, loggerFor(settings), { shared: true });
  try {
    const { rows, bytes } = await writeBackup(database.url, resolve(file), MIGRATIONS_TABLE);
    process.stdout.write(`${file}: ${rows} rows, ${bytes} bytes. Keep the secrets key beside it (docs/operations.md).\n`);
  } finally {
    await database.close();
  }
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
