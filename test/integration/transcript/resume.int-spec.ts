import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExecutionRoom, type Watched } from '../execution/execution-room.js';
import { TranscriptOffice } from '../../support/transcript-office.js';

const room = new ExecutionRoom();
let it_: TranscriptOffice;
let workspace: string;
beforeAll(async () => {
  it_ = await TranscriptOffice.open();
  workspace = await it_.office.workspace();
});
afterAll(async () => {
  await room.close();
  await it_.close();
});

const REPLAY_AGENT = join(import.meta.dirname, '..', '..', 'support', 'agents', 'replay-agent.mjs');
const fileOf = (capture: string): string => join(import.meta.dirname, '..', '..', 'fixtures', 'acp', `${capture}.ndjson`);

/** The session that the capture loads. */
const loadedBy = (capture: string): string =>
  readFileSync(fileOf(capture), 'utf8')
    .split('\n')
    .map((line) => (line === '' ? null : (JSON.parse(line) as { frame?: { method?: string; params?: { sessionId: string } } })))
    .find((line) => line?.frame?.method === 'session/load')!.frame!.params!.sessionId;

async function play(adapter: string, capture: string, acpSessionId: string | null): Promise<Watched> {
  const agent = await room.launch({
    spec: { adapter, acpSessionId },
    config: { command: [process.execPath, REPLAY_AGENT, fileOf(capture)] },
    limits: { firstContentMs: acpSessionId === null ? 10_000 : 400 },
  });
  await agent.outcome();
  await agent.stop();
  return agent.gone();
}

describe('a captured run that is followed by its resume', () => {
  it.each([
    ['claude', 'claude-agent-acp'],
    ['claude', 'claude-code-acp'],
    ['codex', 'codex-acp'],
    ['codex', 'codex-acp2'],
    ['copilot', 'copilot'],
    ['opencode', 'opencode'],
  ])('gives no copy of its history (%s, %s)', async (adapter, name) => {
    const pair = await it_.office.pair(workspace);
    const first = await it_.office.started(workspace, pair);
    const before = await play(adapter, `${name}-resume1`, null);
    await it_.write(first, before.events);
    await it_.office.settlement.settle(first, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });

    const second = await it_.office.started(workspace, pair);
    const after = await play(adapter, `${name}-resume2-load`, loadedBy(`${name}-resume2-load`));
    expect(after.all('session_ready')).toMatchObject([{ loaded: true }]);
    await it_.write(second, after.events);

    const entries = await it_.read(first);
    const said = entries.filter(({ kind, body }) => kind === 'message' && body.includes('Hello from the fake model.'));
    expect(said).toHaveLength(1);
    expect(said[0]).toMatchObject({ turn: 1, run_id: first.runId });
    // The capture ends with the load: nothing answers our prompt.
    expect(entries.filter(({ run_id }) => run_id === second.runId).map(({ kind, title }) => [kind, title])).toEqual([
      ['prompt', null],
      ['notice', 'The agent stopped with an error.'],
    ]);
  });
});
