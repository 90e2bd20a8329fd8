import { readSettings, SettingsError, unknownSettings } from './platform/config/office-settings.js';
import { StartError } from './platform/errors/start-error.js';
import { loggerFor } from './platform/logging/office-logger.js';
import { openOffice } from './office.js';

/** `npm start`: opens the office, and closes it properly when told to go. A second signal does not wait. */
let closing = false;
try {
  const settings = readSettings(process.env);
  const logger = loggerFor(settings);
  const unknown = unknownSettings(process.env);
  if (unknown.length > 0) logger.warn({ names: unknown }, 'settings that mean nothing here', 'Office');
  const told = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      // The second one does not wait.
      process.on(signal, () => (closing ? process.exit(1) : resolve(signal)));
      process.once(signal, () => setImmediate(() => (closing = true)));
    }
  });
  const office = await openOffice(settings, logger);
  logger.log({ url: office.url, docs: `${office.url}/api/docs` }, 'office is open', 'Office');

  const signal = await told;
  logger.log({ signal }, 'closing', 'Office');
  await office.close();
  logger.log('office is closed', 'Office');
  process.exit(0);
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
