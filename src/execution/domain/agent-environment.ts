export type Environment = Readonly<Record<string, string | undefined>>;

/** What every agent may see of the office's own environment (wire document, "The agent process gets only"), beside HOME and TMPDIR where it shares them. */
const EVERY_AGENT = [
  'PATH',
  'LANG',
  'TERM',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
];

/** Names the execution in every process that it starts, so that those which left its process group are found. */
export const EXECUTION_MARKER = 'OFFICE_EXECUTION_ID';

/**
 * The whole environment of an agent process. Allow-list only; later parts win: the office's own (where named), what the
 * adapter sets, what its configuration sets, what the caller gives, the marker. The office's settings never pass.
 */
export function agentEnvironment(
  own: Environment,
  adapter: { readonly passes: readonly string[]; readonly homes?: readonly string[]; readonly sets?: Environment },
  home: 'server' | 'isolated',
  configured: Environment,
  given: Environment,
  executionId: string,
): Record<string, string> {
  const named = [...EVERY_AGENT, ...adapter.passes, ...(home === 'server' ? ['HOME', 'TMPDIR', ...(adapter.homes ?? [])] : [])];
  const passes = (name: string): boolean => named.some((pattern) => matches(pattern, name));
  const inherited = Object.entries(own).filter(([name]) => !name.startsWith('OFFICE_') && passes(name));
  const parts = [
    inherited,
    ...[adapter.sets ?? {}, configured, given, { [EXECUTION_MARKER]: executionId }].map((part) => Object.entries(part)),
  ];
  return Object.fromEntries(parts.flat().filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** A name that says that its value opens something. */
const CREDENTIAL = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|PAT)(_|$)|APIKEY/i;

/** Of an environment, what nobody is to read: values named after what they are, and passwords within addresses. */
export function credentialsIn(
  environment: Iterable<readonly [name: string, value: string | undefined]>,
): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = [];
  for (const [name, value] of environment) {
    if (value === undefined) continue;
    if (CREDENTIAL.test(name)) found.push({ name, value });
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*:([^/?#]+)@/i.exec(value)?.[1];
    if (password !== undefined) found.push({ name, value: password });
  }
  return found;
}

/** `NAME`, or `PREFIX_*`. */
const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
