// Says more than anybody wants to hear. Argument: `chunk` (5 MB at once), `turn` (100 MB of tool output), `tools` (60,000 updates
// of tools).
import { createInterface } from 'node:readline';

const [what] = process.argv.slice(2);
const send = async (frame) => {
  if (!process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`))
    await new Promise((resolve) => process.stdout.once('drain', resolve));
};
const update = (sessionId, fields) => send({ method: 'session/update', params: { sessionId, update: fields } });
const say = (sessionId, text) => update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const call = (sessionId, toolCallId, rawOutput) =>
  update(sessionId, { sessionUpdate: 'tool_call', toolCallId, title: toolCallId, status: 'completed', rawOutput });

async function turn(sessionId, id) {
  if (what === 'chunk') await say(sessionId, 'x'.repeat(5_000_000));
  if (what === 'turn') for (let n = 0; n < 1_000; n++) await call(sessionId, `t${n}`, 'y'.repeat(100_000));
  if (what === 'tools')
    for (let n = 0; n < 60_000; n++)
      await update(sessionId, {
        sessionUpdate: 'tool_call_update',
        toolCallId: `t${n % 700}`,
        status: 'in_progress',
        rawOutput: `progress ${n}`,
      });
  await update(sessionId, { sessionUpdate: 'plan', entries: [{ content: 'rest', status: 'completed', priority: 'low' }] });
  await say(sessionId, 'That was all.');
  await send({ id, result: { stopReason: 'end_turn' } });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') void send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  else if (method === 'session/new') void send({ id, result: { sessionId: 'flood' } });
  else if (method === 'session/prompt') void turn(params.sessionId, id);
  else if (id !== undefined && method !== undefined) void send({ id, error: { code: -32601, message: 'unknown' } });
});
