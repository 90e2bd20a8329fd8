import 'reflect-metadata';
import { openFoundation } from './foundation.js';
import { readSettings, SettingsError } from './platform/config/office-settings.js';
import { StartError } from './platform/errors/start-error.js';
import { loggerFor } from './platform/logging/office-logger.js';

/** `npm run migrate`: brings the database up to date and ends. Refuses while a server holds the data dir. */
try {
  const settings = readSettings(process.env);
  const foundation = await openFoundation(settings, loggerFor(settings));
  await foundation.close();
  process.stdout.write('The database is up to date.\n');
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
