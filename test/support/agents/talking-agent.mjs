// Says `word <n>` every few milliseconds, going on from where it stopped, and writes down in said.log (in its folder) what it has
// said and when. Arguments: how many words a turn has, and the pause between them in milliseconds. Knows its sessions, and tells
// their whole history when one is loaded.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [words, pause] = process.argv.slice(2).map(Number);
const LOG = 'said.log';
const said = () => (existsSync(LOG) ? readFileSync(LOG, 'utf8').trim().split('\n').filter(Boolean) : []);
const send = (frame) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`);
const say = (sessionId, text) =>
  send({
    method: 'session/update',
    params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  });

async function turn(sessionId, id) {
  const first = said().length + 1;
  for (let n = first; n < first + words; n++) {
    say(sessionId, `word ${n} `);
    appendFileSync(LOG, `${n} ${Date.now()}\n`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  send({ id, result: { stopReason: 'end_turn' } });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
  else if (method === 'session/new') send({ id, result: { sessionId: 'talk' } });
  else if (method === 'session/load') {
    for (const one of said()) say(params.sessionId, `word ${one.split(' ')[0]} `);
    send({ id, result: {} });
  } else if (method === 'session/prompt') void turn(params.sessionId, id);
  else if (id !== undefined && method !== undefined) send({ id, error: { code: -32601, message: 'unknown' } });
});
