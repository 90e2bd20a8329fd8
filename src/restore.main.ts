import 'reflect-metadata';
import { resolve } from 'node:path';
import { databaseOf } from './database-of.js';
import { databaseOptions } from './database-options.js';
import { restoreBackup } from './platform/backup/restore-backup.js';
import { readSettings, SettingsError } from './platform/config/office-settings.js';
import { StartError } from './platform/errors/start-error.js';
import { loggerFor } from './platform/logging/office-logger.js';

/** `npm run restore -- FILE`: fills an empty database from a backup, all of it or nothing. */
try {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new StartError('Say where from: npm run restore -- FILE');
  const settings = readSettings({ ...process.env, OFFICE_LOG_LEVEL: 'error' });
  const database = await databaseOf(settings, loggerFor(settings), { shared: false });
  try {
    const options = databaseOptions(database.url, { poolSize: 1, statementTimeoutMs: 0 });
    const { takenAt, rows } = await restoreBackup(options, resolve(file));
    const count = Object.values(rows).reduce((sum, n) => sum + n, 0);
    process.stdout.write(`${count} rows as of ${takenAt}. Start the office with the secrets key it had (docs/operations.md).\n`);
  } finally {
    await database.close();
  }
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
