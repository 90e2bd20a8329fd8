// An agent without manners: speaks ACP by hand, one list of deeds for each thing that it is asked. Argument: JSON
// `{"<method or 'start' or 'end'>": [[deed, …arguments], …]}`; what is not given is done properly.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const proper = {
  start: [],
  end: [['exit', 0]],
  initialize: [['reply', { protocolVersion: 1, agentCapabilities: { loadSession: true } }]],
  'session/new': [['reply', { sessionId: 's1' }]],
  'session/load': [['reply', {}]],
  'session/prompt': [
    ['say', 'hello'],
    ['reply', { stopReason: 'end_turn' }],
  ],
  'session/cancel': [],
};
const deeds = { ...proper, ...JSON.parse(process.argv[2] ?? '{}') };
const asked = new Map();
let asks = 0;

const write = (text) => new Promise((done) => process.stdout.write(text, done));
const send = (frame) => write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`);
const update = (content, sessionId = 's1') => send({ method: 'session/update', params: { sessionId, update: content } });
const chunk = (text) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const forever = () => new Promise(() => setInterval(() => undefined, 60_000));

const can = {
  reply: (id, result) => send({ id, result }),
  error: (id, error) => send({ id, error }),
  frame: (id, frame) => send(frame),
  say: (_id, text) => update(chunk(text)),
  update: (_id, content, sessionId) => update(content, sessionId === undefined ? 's1' : sessionId),
  echo: (_id, method, params) => update(chunk(`${method} ${JSON.stringify(params)}`)),
  environment: () => update(chunk(JSON.stringify(process.env))),
  line: (_id, text) => write(`${text}\n`),
  bytes: (_id, base64) => write(Buffer.from(base64, 'base64')),
  /** A frame whose text is `characters` long, in pieces. */
  big: async (_id, characters) => {
    await write(
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"',
    );
    const piece = 'x'.repeat(1024 * 1024);
    for (let left = characters; left > 0; left -= piece.length) await write(piece.slice(0, left));
    await write('"}}}}\n');
  },
  big_error: (id, characters) => send({ id, error: { code: -32603, message: `begin ${'é'.repeat(characters)} end` } }),
  deep: (_id, levels) =>
    write(
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"d","title":"deep","rawInput":${'['.repeat(levels)}${']'.repeat(levels)}}}}\n`,
    ),
  many: async (_id, count) => {
    for (let sent = 0; sent < count;) {
      let text = '';
      for (const end = Math.min(count, sent + 500); sent < end; sent++) {
        text += `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's1', update: chunk(`tok${sent} `) } })}\n`;
      }
      await write(text);
    }
  },
  ask: async (_id, options) => {
    const id = `ask${++asks}`;
    await send({
      id,
      method: 'session/request_permission',
      params: { sessionId: 's1', toolCall: { toolCallId: 't', title: 'rm' }, options },
    });
    const answer = await new Promise((resolve) => asked.set(id, resolve));
    await update(chunk(JSON.stringify(answer)));
  },
  ask_something: async (_id, method) => {
    const id = `ask${++asks}`;
    await send({ id, method, params: {} });
    await update(chunk(JSON.stringify(await new Promise((resolve) => asked.set(id, resolve)))));
  },
  /** Updates of 64 KiB; how many have left us stands in the file `sent` of our folder. */
  flood: async (_id, count) => {
    for (let sent = 1; sent <= count; sent++) {
      await update(chunk(`${sent} `.padEnd(65_536, '.')));
      writeFileSync('sent', String(sent));
    }
  },
  /** Asks for files, this many bytes of it, and never reads what it is answered. */
  nag: async (_id, bytes) => {
    process.stdin.pause();
    const text = `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'fs/read_text_file', params: {} })}\n`.repeat(1_000);
    for (let sent = 0; sent < bytes; sent += text.length) await write(text);
  },
  stderr: (_id, text) => new Promise((done) => process.stderr.write(text, done)),
  sleep: (_id, ms) => new Promise((done) => setTimeout(done, ms)),
  ignore: (_id, signal) => void process.on(signal, () => undefined),
  /** `hold`: keeps our stdout; `setsid`: leaves the group; `deaf`: ignores SIGTERM; `bare`: with an empty environment. */
  child: async (_id, { hold, setsid, deaf, bare }) => {
    const child = spawn('/bin/sh', ['-c', `${deaf ? "trap '' TERM; " : ''}while :; do sleep 1; done`], {
      detached: setsid === true,
      stdio: ['ignore', hold ? 'inherit' : 'ignore', 'ignore'],
      env: bare ? { PATH: process.env.PATH } : process.env,
    });
    child.unref();
    await new Promise((done) => child.once('spawn', done));
  },
  close_stdout: () => new Promise((done) => process.stdout.end(done)),
  exit: (_id, code) => process.exit(code),
  kill: (_id, signal) => (process.kill(process.pid, signal), forever()),
  hang: forever,
};

async function perform(name, id, params) {
  for (const [deed, ...rest] of deeds[name] ?? [['error', { code: -32601, message: `no ${name}` }]]) {
    if (deed === 'echo') await can.echo(id, name, params);
    else await can[deed](id, ...rest);
  }
}

await perform('start');
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const frame = JSON.parse(line);
    if (frame.method === undefined) return asked.get(frame.id)?.(frame.result ?? frame.error);
    void perform(frame.method, frame.id, frame.params);
  })
  .on('close', () => void perform('end'));
