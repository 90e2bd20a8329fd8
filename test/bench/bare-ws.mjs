// A server of the package `ws` and nothing else: told to, it sends each of its frames to each of its clients.
import { readFileSync } from 'node:fs';
import { WebSocketServer } from 'ws';

const frames = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('listening', () => process.send({ port: server.address().port }));
process.on('message', () => void send());

async function send() {
  for (const frame of frames) {
    for (const client of server.clients) client.send(frame);
    // So that what was sent gets out, as any server must let it.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
