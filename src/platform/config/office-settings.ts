import { applyDecorators } from '@nestjs/common';
import { plainToInstance, Transform } from 'class-transformer';
import { IsIn, IsOptional, IsString, Matches, MinLength, ValidateBy, validateSync } from 'class-validator';
import { validateCronExpression } from 'cron';
import { isAbsolute, resolve } from 'node:path';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Digits become a number; anything else is refused. */
const Whole = (min: number, max: number): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' && /^-?\d{1,9}$/.test(value.trim()) ? Number(value) : value)),
    ValidateBy({
      name: 'whole',
      validator: {
        validate: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
        defaultMessage: () => `must be a whole number from ${min} to ${max}`,
      },
    }),
  );
const Path = () => Transform(({ value }) => (typeof value === 'string' && value !== '' ? resolve(value) : value));

/** Absolute paths between colons. */
const PathList = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(':').filter((part) => part !== '') : value)),
    ValidateBy({
      name: 'pathList',
      validator: {
        validate: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' && isAbsolute(one)),
        defaultMessage: () => 'must be absolute paths between colons',
      },
    }),
  );

/** Up to `most` whole numbers between commas. */
const WholeList = (most: number, max: number): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^[\d\s,]+$/.test(value)
        ? value.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)))
        : value,
    ),
    ValidateBy({
      name: 'wholeList',
      validator: {
        validate: (value) =>
          Array.isArray(value) &&
          value.length > 0 &&
          value.length <= most &&
          value.every((one) => Number.isInteger(one) && one >= 0 && one <= max),
        defaultMessage: () => `must be up to ${most} whole numbers from 0 to ${max} between commas`,
      },
    }),
  );

/** Five fields, or six with seconds in front. */
const CronExpression = (): PropertyDecorator =>
  ValidateBy({
    name: 'cronExpression',
    validator: {
      validate: (value) => typeof value === 'string' && validateCronExpression(value).valid,
      defaultMessage: () => 'must be a cron expression',
    },
  });

/**
 * What the environment said, once. Names are those of the wire document; every value has been validated.
 * Durations are whole seconds.
 */
export class OfficeSettings {
  @Whole(0, 65535) OFFICE_PORT: number = 8484;
  @IsString() @MinLength(1) OFFICE_HOST: string = '127.0.0.1';
  /** State lives here: database, keys, the admin token. */
  @Path() @IsString() @MinLength(1) OFFICE_DATA_DIR: string = resolve('.office');
  /** Agents work here. */
  @Path() @IsString() @MinLength(1) OFFICE_WORK_DIR: string = resolve('.office-work');
  /** Repositories may be registered below these only. */
  @PathList() OFFICE_REPOSITORY_ROOTS: string[] = [];
  /** Where the server is root, the agents of each workspace run as a user of their own, counted from here. */
  @Whole(1_000, 900_000_000) OFFICE_AGENT_UID_BASE: number = 61_000;
  /** Unset: an embedded PostgreSQL in the data dir. */
  @IsOptional() @Matches(/^postgres(ql)?:\/\//, { message: 'must begin with postgres:// or postgresql://' }) OFFICE_DATABASE_URL?: string;
  @IsOptional() @Matches(/^[\x21-\x7e]{20,512}$/, { message: 'must be 20 to 512 visible ASCII characters' }) OFFICE_ADMIN_TOKEN?: string;
  @IsOptional() @IsString() @MinLength(32, { message: 'must have at least 32 characters' }) OFFICE_SECRETS_KEY?: string;
  /** Signs the tokens of agents; unset: a random one per process. */
  @IsOptional() @IsString() @MinLength(32, { message: 'must have at least 32 characters' }) OFFICE_AGENT_JWT_KEY?: string;
  @Whole(1, 1000) OFFICE_MAX_EXECUTIONS: number = 8;
  @Whole(0, 86_400) OFFICE_DRAIN_SEC: number = 30;
  @Whole(1, 604_800) OFFICE_RUN_TIMEOUT_SEC: number = 10_800;
  @Whole(1, 86_400) OFFICE_FIRST_EVENT_TIMEOUT_SEC: number = 300;
  @Whole(5, 86_400) OFFICE_LEASE_SEC: number = 120;
  /** Events older than this are forgotten ... */
  @Whole(1, 3_650) OFFICE_EVENTS_KEEP_DAYS: number = 7;
  /** ... and of each workspace all but the newest so many, whichever leaves less. */
  @Whole(1, 100_000_000) OFFICE_EVENTS_KEEP_ROWS: number = 1_000_000;
  /** What tools gave back and what agents thought is kept so long after the end of its run ... */
  @Whole(1, 3_650) OFFICE_BODIES_KEEP_DAYS: number = 14;
  /** ... and the run with everything about it so long. */
  @Whole(1, 3_650) OFFICE_HISTORY_KEEP_DAYS: number = 180;
  /** Before the first and the second retry of a turn that failed for a passing reason. */
  @WholeList(2, 86_400) OFFICE_RETRY_DELAYS_SEC: number[] = [5, 10];
  /** The same for a launch that failed; up to a quarter more is added. */
  @WholeList(3, 86_400) OFFICE_PRELAUNCH_DELAYS_SEC: number[] = [120, 600, 1_800];
  /** How long after a provider's own reset a hold on it still lasts. */
  @Whole(0, 86_400) OFFICE_RESET_MARGIN_SEC: number = 60;
  /** Silence of a turn before it is shown as quiet. */
  @Whole(1, 86_400) OFFICE_QUIET_SEC: number = 300;
  /** Age of a completion signal, and silence, before it is stranded. */
  @Whole(1, 604_800) OFFICE_STRANDED_SIGNAL_SEC: number = 600;
  /** Time a task stands at a gate before the missing decision is shown. */
  @Whole(1, 31_536_000) OFFICE_DECISION_WAIT_SEC: number = 3_600;
  /** When the stall watchdog looks: a cron expression with seconds. */
  @CronExpression() OFFICE_WATCHDOG_CRON: string = '*/30 * * * * *';
  @IsIn(LOG_LEVELS) OFFICE_LOG_LEVEL: (typeof LOG_LEVELS)[number] = 'info';
}

const OPTIONAL = ['OFFICE_DATABASE_URL', 'OFFICE_ADMIN_TOKEN', 'OFFICE_SECRETS_KEY', 'OFFICE_AGENT_JWT_KEY'];
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(new OfficeSettings()), ...OPTIONAL]);

/** A setting the office cannot start with. `message` is the one line a person needs. */
export class SettingsError extends Error {}

/** Reads the settings of an environment, or throws a `SettingsError` that names the first bad one. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): OfficeSettings {
  const given = Object.entries(env).filter(([name, value]) => KNOWN.has(name) && value !== undefined && value !== '');
  const settings = plainToInstance(OfficeSettings, Object.fromEntries(given), { exposeDefaultValues: true });
  const [problem] = validateSync(settings);
  if (problem) {
    const said = Object.values(problem.constraints ?? {})[0] ?? 'is not valid';
    throw new SettingsError(`Setting ${problem.property} ${said.replace(`${problem.property} `, '')}.`);
  }
  return settings;
}

/** `OFFICE_*` names that mean nothing to us, for a warning at start: a typo must not pass for a default unseen. */
export const unknownSettings = (env: Readonly<Record<string, string | undefined>>): string[] =>
  Object.keys(env).filter((name) => name.startsWith('OFFICE_') && !KNOWN.has(name));
