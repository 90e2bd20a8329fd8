import { readSettings, SettingsError, unknownSettings } from './platform/config/office-settings.js';
import { StartError } from './platform/errors/start-error.js';
import { loggerFor } from './platform/logging/office-logger.js';
import { openOffice } from './office.js';

/** `npm start`: opens the office, and closes it properly when told to go. A second signal does not wait. */
try {
  const settings = readSettings(process.env);
  const logger = loggerFor(settings);
  const unknown = unknownSettings(process.env);
  if (unknown.length > 0) logger.warn({ names: unknown }, 'settings that mean nothing here', 'Office');
  const office = await openOffice(settings, logger);
  logger.log({ url: office.url, docs: `${office.url}/api/docs` }, 'office is open', 'Office');

  let closing = false;
  const close = (signal: NodeJS.Signals): void => {
    if (closing) process.exit(1);
    closing = true;
    logger.log({ signal }, 'closing', 'Office');
    office.close().then(
      () => {
        logger.log('office is closed', 'Office');
        process.exit(0);
      },
      (error: unknown) => {
        logger.error({ err: error }, 'could not close properly', 'Office');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', close);
  process.on('SIGINT', close);
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
