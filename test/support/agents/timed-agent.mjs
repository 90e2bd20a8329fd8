// An agent that says so many chunks (its argument) and keeps when it had the prompt and when it had answered, in `turn.json` of its folder.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const chunks = Number(process.argv[2] ?? 1);
const now = () => performance.timeOrigin + performance.now();
const write = (text) => new Promise((done) => process.stdout.write(text, done));
const send = (frame) => write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`);
async function hear(line) {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') await send({ id, result: { protocolVersion: 1 } });
  if (method === 'session/new') await send({ id, result: { sessionId: 's1' } });
  if (method !== 'session/prompt') return;
  const asked = now();
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'word ' } };
  const chunk = `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's1', update } })}\n`;
  for (let left = chunks; left > 0; left -= 500) await write(chunk.repeat(Math.min(left, 500)));
  writeFileSync('turn.json', JSON.stringify({ asked, answered: now() }));
  await send({ id, result: { stopReason: 'end_turn' } });
}
createInterface({ input: process.stdin }).on('line', (line) => void hear(line));
