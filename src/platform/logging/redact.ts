const MASK = '[redacted]';

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Our own access tokens and anything that stands as a credential in a header.
  [/office_[A-Za-z0-9_-]{20,}/g, MASK],
  [/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${MASK}`],
  // JSON web tokens.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, MASK],
  // The password of a database address, up to the last @ before the host.
  [/(postgres(?:ql)?:\/\/[^\s:/@"]{0,200}:)[^\s"/]{1,500}@/gi, `$1${MASK}@`],
  // String values of fields that are named after what they hold, in a line of JSON.
  [
    /("[A-Za-z_-]{0,40}(?:authorization|cookie|password|passwd|secret|token|api_?key|jwt_?key|secrets_?key)":)"(?:[^"\\]|\\.)*"/gi,
    `$1"${MASK}"`,
  ],
];

/** What running agents were given. Of the process, as its log is: it has to work for a logger that knows nothing of agents. */
const hiders = new Set<(line: string) => string>();

/** From here on every line goes through `hide`, until the answer is called. */
export function hideFromLogs(hide: (line: string) => string): () => void {
  hiders.add(hide);
  return () => void hiders.delete(hide);
}

/** Masks everything in a line of log that looks like a credential, and `known` values wherever they stand. */
export function redact(line: string, known: readonly string[]): string {
  let safe = line;
  for (const hide of hiders) safe = hide(safe);
  for (const value of known) safe = safe.replaceAll(value, MASK);
  for (const [pattern, mask] of PATTERNS) safe = safe.replace(pattern, mask);
  return safe;
}

/** The values to mask by heart, as they stand in JSON. Short ones are left: masking every "8484" would hide more than it guards. */
export const knownSecrets = (values: readonly (string | undefined)[]): string[] =>
  values.filter((value): value is string => value !== undefined && value.length >= 8).map((value) => JSON.stringify(value).slice(1, -1));
