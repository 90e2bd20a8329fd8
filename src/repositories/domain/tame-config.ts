/** One entry of `git config --list --show-scope -z`. A key without a value means true. */
export interface ConfigEntry {
  readonly scope: string;
  readonly key: string;
  readonly value: string | null;
}

export type Override = readonly [key: string, value: string];

/** What holds whatever a repository says: nothing of it is run, nothing is begun in the background, and paths read as they are. */
const ALWAYS: readonly Override[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.quotePath', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['push.gpgSign', 'false'],
  ['push.followTags', 'false'],
  ['log.showSignature', 'false'],
  ['advice.detachedHead', 'false'],
  // Whose it is does not matter where nothing of it is run. Said here because only the system's and our own word counts for it.
  ['safe.directory', '*'],
];

/** By the end of a key: what makes it harmless. The middle of a key may hold anything, dots and line ends included. */
const HARMLESS: readonly (readonly [pattern: RegExp, tame: (named: string) => readonly Override[]])[] = [
  [
    /^filter\.(.+)\.(?:clean|smudge|process|required)$/s,
    (name) => [
      [`filter.${name}.clean`, ''],
      [`filter.${name}.smudge`, ''],
      [`filter.${name}.process`, ''],
      [`filter.${name}.required`, 'false'],
    ],
  ],
  [/^remote\.(.+)\.uploadpack$/s, (name) => [[`remote.${name}.uploadpack`, 'git-upload-pack']]],
  [/^remote\.(.+)\.receivepack$/s, (name) => [[`remote.${name}.receivepack`, 'git-receive-pack']]],
  [/^(core\.alternaterefscommand)$/, (name) => [[name, ':']]],
];

/** Reads the answer of `git config --list --show-scope -z`. */
export function readConfig(listed: string): ConfigEntry[] {
  const parts = listed.split('\0');
  const entries: ConfigEntry[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const said = parts[at + 1]!;
    const end = said.indexOf('\n');
    entries.push({ scope: parts[at]!, key: end < 0 ? said : said.slice(0, end), value: end < 0 ? null : said.slice(end + 1) });
  }
  return entries;
}

/**
 * Everything to be said on the command's own behalf so that no program that a repository's configuration names is run by it.
 * Commands besides need `--no-ext-diff --no-textconv`, and the environment of `gitEnvironment`. Where people's own settings
 * are read too (`keepsHelpers`, for a push), their credential helpers stay and the repository's go.
 */
export function tame(entries: readonly ConfigEntry[], keepsHelpers: boolean): Override[] {
  const overrides: Override[] = [...ALWAYS];
  const seen = new Set<string>();
  for (const { key } of entries) {
    for (const [pattern, tamed] of HARMLESS) {
      const name = pattern.exec(key)?.[1];
      if (name === undefined || seen.has(`${pattern.source} ${name}`)) continue;
      seen.add(`${pattern.source} ${name}`);
      overrides.push(...tamed(name));
    }
  }
  for (const key of new Set(entries.map((entry) => entry.key).filter((one) => /^credential\.(?:.*\.)?helper$/s.test(one)))) {
    // An empty one forgets those before it.
    overrides.push([key, '']);
    if (!keepsHelpers) continue;
    const own = entries.filter((entry) => entry.key === key && (entry.scope === 'global' || entry.scope === 'system'));
    for (const { value } of own) if (value !== null && value !== '') overrides.push([key, value]);
  }
  return overrides;
}

/** The same as variables, which take any key. */
export function asEnvironment(overrides: readonly Override[]): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(overrides.length) };
  for (const [index, [key, value]] of overrides.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return env;
}
