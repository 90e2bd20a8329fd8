/** What git may see of the office's own environment; with `credentials` also what a push needs to be let in. */
const SEEN = ['PATH', 'TMPDIR'];
const SEEN_BY_PUSH = [
  'HOME',
  'SSH_AUTH_SOCK',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/** Asks nobody anything, runs no helper of its own accord, speaks no transport that is a program, fetches nothing behind our back. */
const SAID: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  // Set and empty: neither core.askPass nor SSH_ASKPASS is looked at.
  GIT_ASKPASS: '',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
  GIT_ALLOW_PROTOCOL: 'file:https:http:ssh',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_EDITOR: ':',
  GIT_PAGER: 'cat',
};

/** Without credentials: the repository's configuration and nobody else's. */
const ALONE: Readonly<Record<string, string>> = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };

/** The whole environment of a git process, apart from its configuration. Allow-list only. */
export function gitEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  { credentials, home }: { readonly credentials: boolean; readonly home: string | null },
): Record<string, string> {
  const seen = (names: readonly string[]): [string, string][] =>
    names.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as [string, string]]));
  return Object.fromEntries([
    ...seen(SEEN),
    ...(credentials ? seen(SEEN_BY_PUSH) : Object.entries(ALONE)),
    ...(credentials && home !== null ? [['HOME', home]] : []),
    ...Object.entries(SAID),
  ]) as Record<string, string>;
}
