// An agent that tries to take what is not its own. Argument: JSON `[[name, deed, …arguments], …]`. Each deed is tried during its
// turn; what came of it is said as one JSON object: name to `refused: <code>` or to what it got.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync, statSync, mkdirSync, chmodSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import pg from 'pg';

const deeds = JSON.parse(process.argv[2]);
const can = {
  read: (path) => readFileSync(path, 'latin1').slice(0, 200),
  list: (path) => readdirSync(path),
  write: (path) => writeFileSync(path, 'mine now'),
  make: (path) => mkdirSync(path),
  chmod: (path) => chmodSync(path, 0o777),
  remove: (path) => rmSync(path, { recursive: true }),
  /** Puts a link in the place of a folder, for root to walk into. */
  exchange: (path, target) => {
    renameSync(path, `${path}.old`);
    symlinkSync(target, path);
  },
  signal: (pid) => process.kill(pid, 'SIGTERM'),
  become_root: () => process.setuid(0),
  shell_root: () => execFileSync('/bin/sh', ['-c', 'su root -c id </dev/null 2>&1'], { encoding: 'utf8' }),
  connect: async (url) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    await client.connect();
    const { rows } = await client.query('select current_user');
    await client.end();
    return rows;
  },
  fetch: async (url, token) => {
    const answer = await fetch(url, { headers: token === null ? {} : { authorization: `Bearer ${token}` } });
    if (answer.status === 401 || answer.status === 403) throw Object.assign(new Error(), { code: String(answer.status) });
    return answer.text();
  },
  who: () => ({
    uid: process.getuid(),
    groups: process.getgroups(),
    cwd: process.cwd(),
    env: process.env,
    modes: Object.fromEntries(['.', process.env.HOME, process.env.TMPDIR].map((path) => [path, (statSync(path).mode & 0o777).toString(8)])),
  }),
};

async function attempt(deed, rest) {
  try {
    return { got: (await can[deed](...rest)) ?? true };
  } catch (error) {
    return `refused: ${error.code ?? error.status ?? error.message}`;
  }
}

const send = (frame) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`);
async function hear(line) {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: { protocolVersion: 1 } });
  if (method === 'session/new') send({ id, result: { sessionId: 's1' } });
  if (method !== 'session/prompt') return;
  const found = {};
  for (const [name, deed, ...rest] of deeds) found[name] = await attempt(deed, rest);
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: JSON.stringify(found) } };
  send({ method: 'session/update', params: { sessionId: 's1', update } });
  send({ id, result: { stopReason: 'end_turn' } });
}
createInterface({ input: process.stdin }).on('line', (line) => void hear(line));
