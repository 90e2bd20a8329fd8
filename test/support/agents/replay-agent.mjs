// Plays back a captured run of a real agent. Argument: the capture, one JSON object a line
// `{dir: 'client->agent' | 'agent->client' | 'agent-stderr' | …, frame | text}`. What the agent sent after something of the
// client is sent once the client has said the like: the same method, or an answer to the agent's own request.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const entries = readFileSync(process.argv[2], 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .filter(({ dir }) => ['client->agent', 'agent->client', 'agent-stderr', 'agent-stdout-nonjson'].includes(dir));

let at = 0;
/** What the office does not ask, and how it was answered. */
const skipped = new Set(
  entries
    .filter(({ dir, frame }) => dir === 'client->agent' && ['authenticate', 'session/set_config_option'].includes(frame.method))
    .map(({ frame }) => frame.id),
);
for (let place = entries.length - 1; place >= 0; place--) {
  const { frame } = entries[place];
  const ofTheAgent = entries[place].dir === 'agent->client' && frame.method !== undefined;
  if (frame !== undefined && !ofTheAgent && skipped.has(frame.id)) entries.splice(place, 1);
}

/** Of the capture's requests to the ids they came with here. */
const ids = new Map();

function play() {
  for (; at < entries.length && entries[at].dir !== 'client->agent'; at++) {
    const { dir, frame, text } = entries[at];
    if (dir === 'agent-stderr') process.stderr.write(text);
    else if (dir === 'agent-stdout-nonjson') process.stdout.write(`${text}\n`);
    else
      process.stdout.write(
        `${JSON.stringify(frame.method === undefined && ids.has(frame.id) ? { ...frame, id: ids.get(frame.id) } : frame)}\n`,
      );
  }
}

play();
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const heard = JSON.parse(line);
    // What the office sets beyond what was captured is taken without a word.
    if ((heard.method ?? '').startsWith('session/set_')) {
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: heard.id, result: {} })}\n`);
      return;
    }
    const expected = entries[at]?.frame;
    if (expected === undefined || heard.method !== expected.method) return;
    if (heard.method !== undefined) ids.set(expected.id, heard.id);
    at++;
    play();
  })
  .on('close', () => process.exit(0));
