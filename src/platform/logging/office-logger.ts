import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import type { OfficeSettings } from '../config/office-settings.js';
import { errorFacts } from './error-facts.js';
import { knownSecrets, redact } from './redact.js';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Nest tells every route and module it meets; that is worth a line only to somebody who is looking for it. */
const CHATTY = new Set([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
  'WebSocketsController',
  'LegacyRouteConverter',
]);

/**
 * One line of JSON per outcome: facts, then a fixed phrase, `logger.warn({ run_id }, 'lease lost')`. Whatever is written
 * goes through `redact` as the finished line, so that no field, message or stack can carry a credential past it.
 */
export class OfficeLogger implements LoggerService {
  readonly pino: Logger;

  constructor(level: OfficeSettings['OFFICE_LOG_LEVEL'], secrets: readonly (string | undefined)[] = [], destination?: DestinationStream) {
    const known = knownSecrets(secrets);
    const options = {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
      serializers: { err: errorFacts },
      hooks: { streamWrite: (line: string) => redact(line, known) },
    };
    this.pino = destination ? pino(options, destination) : pino(options);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest hands over (facts, phrase, context), (phrase, context), (error, context) or (phrase, stack, context). */
  private write(level: Level, message: unknown, rest: readonly unknown[]): void {
    const texts = rest.filter((part): part is string => typeof part === 'string');
    const facts = message instanceof Error ? { err: message } : isFacts(message) ? message : {};
    const hasPhrase = typeof message === 'string';
    const context = hasPhrase || texts.length > 1 || message instanceof Error ? texts.at(-1) : undefined;
    const phrase = hasPhrase ? message : message instanceof Error ? message.message : (texts[0] ?? String(message));
    const stack = hasPhrase && texts.length > 1 ? { stack: texts[0] } : {};
    const quiet = level === 'info' && context !== undefined && CHATTY.has(context);
    this.pino[quiet ? 'debug' : level]({ ...(context !== undefined && { context }), ...facts, ...stack }, phrase);
  }
}

const isFacts = (message: unknown): message is object => typeof message === 'object' && message !== null;

/** The logger of a server with these settings: their secrets are masked by value, too. */
export function loggerFor(settings: OfficeSettings, destination?: DestinationStream): OfficeLogger {
  const { OFFICE_ADMIN_TOKEN, OFFICE_AGENT_JWT_KEY, OFFICE_SECRETS_KEY, OFFICE_DATABASE_URL } = settings;
  return new OfficeLogger(
    settings.OFFICE_LOG_LEVEL,
    [OFFICE_ADMIN_TOKEN, OFFICE_AGENT_JWT_KEY, OFFICE_SECRETS_KEY, passwordIn(OFFICE_DATABASE_URL)],
    destination,
  );
}

function passwordIn(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  return decodeURIComponent(new URL(url).password) || undefined;
}
