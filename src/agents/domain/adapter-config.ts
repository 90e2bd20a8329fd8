import type { Adapter } from '../../execution/adapters/domain/adapter-ids.js';

export { ADAPTERS, type Adapter } from '../../execution/adapters/domain/adapter-ids.js';

export const PERMISSION_POLICIES = ['ask', 'allow', 'deny'] as const;
export const HOMES = ['server', 'isolated'] as const;

/** A plain value, or the name of a secret of the workspace that is put in at launch. */
export type EnvValue = string | { readonly secret: string };

/** How an agent is launched, as stored and as on the wire. */
export interface AdapterConfig {
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, EnvValue>>;
  readonly model?: string;
  readonly mode?: string;
  readonly permission_policy: (typeof PERMISSION_POLICIES)[number];
  /** Absent: what the server was started as decides (contract 12). */
  readonly home?: (typeof HOMES)[number];
  /** The mock's steps. */
  readonly script?: readonly unknown[];
}

export interface Problem {
  readonly path: string;
  readonly problem: string;
}

const NAME_SHAPE = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const MAX_ARGUMENTS = 100;
const MAX_ENV_NAMES = 100;
const MAX_TEXT_BYTES = 32 * 1024;
const MAX_SCRIPT_BYTES = 256 * 1024;
const MAX_SCRIPT_DEPTH = 64;

/** A configuration that may be stored, or everything that is wrong with it. */
export function readAdapterConfig(value: unknown, adapter: Adapter): { config: AdapterConfig } | { problems: Problem[] } {
  const problems = problemsOf(value, adapter);
  if (problems.length > 0) return { problems };
  const given = value as Partial<AdapterConfig>;
  return { config: { ...given, permission_policy: given.permission_policy ?? 'ask' } };
}

/**
 * Whether a change needs an instance admin: it chooses a program to run on the machine, lets an agent into the server's
 * own home, or gives either to another adapter. Handing back what is already there needs nobody.
 */
export function reachesTheMachine(
  before: { readonly adapter: Adapter; readonly config: AdapterConfig } | null,
  after: { readonly adapter: Adapter; readonly config: AdapterConfig },
): boolean {
  const { command, home } = after.config;
  const sameAdapter = before?.adapter === after.adapter;
  const newCommand = command !== undefined && !(sameAdapter && sameList(before.config.command, command));
  const newHome = home === 'server' && !(sameAdapter && before.config.home === 'server');
  return newCommand || newHome;
}

export const REDACTED = '[redacted]';

/** For those who may not see how an agent is launched: what there is, without what it says. */
export function redacted(config: AdapterConfig): Record<string, unknown> {
  const { command, env, script, ...open } = config;
  return {
    ...open,
    ...(command === undefined ? {} : { command: [REDACTED] }),
    ...(env === undefined ? {} : { env: Object.fromEntries(Object.keys(env).map((name) => [name, REDACTED])) }),
    ...(script === undefined ? {} : { script: REDACTED }),
  };
}

function problemsOf(value: unknown, adapter: Adapter): Problem[] {
  if (!isObject(value)) return [{ path: '', problem: 'must be an object' }];
  const problems = Object.entries(value).flatMap(([name, part]) => fieldProblems(name, part, adapter));
  if (adapter === 'custom' && value['command'] === undefined) problems.push({ path: 'command', problem: 'is needed by a custom agent' });
  return problems;
}

function fieldProblems(name: string, value: unknown, adapter: Adapter): Problem[] {
  switch (name) {
    case 'command':
      return commandProblems(value);
    case 'env':
      return envProblems(value);
    case 'model':
    case 'mode':
      return isText(value, 200) && value !== '' ? [] : [{ path: name, problem: 'must be a text of 1 to 200 bytes' }];
    case 'permission_policy':
      return oneOf(name, value, PERMISSION_POLICIES);
    case 'home':
      return oneOf(name, value, HOMES);
    case 'script':
      return scriptProblems(value, adapter);
    default:
      return [{ path: name, problem: 'is not a field of adapter_config' }];
  }
}

function commandProblems(value: unknown): Problem[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_ARGUMENTS) {
    return [{ path: 'command', problem: `must be a list of 1 to ${MAX_ARGUMENTS} texts` }];
  }
  const wrong = value.flatMap((part: unknown, index) =>
    isText(part, MAX_TEXT_BYTES) ? [] : [{ path: `command.${index}`, problem: 'must be a text of at most 32 KiB without U+0000' }],
  );
  return value[0] === '' ? [...wrong, { path: 'command.0', problem: 'must name a program' }] : wrong;
}

function envProblems(value: unknown): Problem[] {
  if (!isObject(value)) return [{ path: 'env', problem: 'must be an object' }];
  const entries = Object.entries(value);
  if (entries.length > MAX_ENV_NAMES) return [{ path: 'env', problem: `must have at most ${MAX_ENV_NAMES} names` }];
  return entries.flatMap(([name, part]) => {
    const path = `env.${name.slice(0, 100)}`;
    if (!NAME_SHAPE.test(name)) return [{ path, problem: 'is not a name for an environment variable' }];
    // What the office itself tells an agent cannot be overridden by its configuration.
    if (/^office_/i.test(name)) return [{ path, problem: 'names beginning with OFFICE_ belong to the office' }];
    if (typeof part === 'string') {
      return isText(part, MAX_TEXT_BYTES) ? [] : [{ path, problem: 'must be at most 32 KiB without U+0000' }];
    }
    const isSecret =
      isObject(part) && Object.keys(part).length === 1 && typeof part['secret'] === 'string' && NAME_SHAPE.test(part['secret']);
    return isSecret ? [] : [{ path, problem: 'must be a text or {"secret": NAME}' }];
  });
}

function scriptProblems(value: unknown, adapter: Adapter): Problem[] {
  const path = 'script';
  if (adapter !== 'mock') return [{ path, problem: 'is for the mock agent only' }];
  if (!Array.isArray(value)) return [{ path, problem: 'must be a list of steps' }];
  // Before anything that descends by recursion: a body of 1 MiB can nest half a million deep.
  if (isDeeperThan(value, MAX_SCRIPT_DEPTH)) return [{ path, problem: `must not nest deeper than ${MAX_SCRIPT_DEPTH}` }];
  return bytesOf(JSON.stringify(value)) <= MAX_SCRIPT_BYTES ? [] : [{ path, problem: 'must be at most 256 KiB of JSON' }];
}

function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((part) => (part !== null && typeof part === 'object' ? Object.values(part) : []));
  }
  return false;
}

function oneOf(path: string, value: unknown, allowed: readonly string[]): Problem[] {
  return typeof value === 'string' && allowed.includes(value) ? [] : [{ path, problem: `must be one of ${allowed.join(', ')}` }];
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);

const isText = (value: unknown, bytes: number): value is string =>
  typeof value === 'string' && !value.includes('\u0000') && value.isWellFormed() && bytesOf(value) <= bytes;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const sameList = (left: readonly string[] | undefined, right: readonly string[]): boolean =>
  left !== undefined && left.length === right.length && left.every((part, index) => part === right[index]);
