import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { summary } from '../../../src/execution/domain/error-payload.js';
import { ExecutionRoom, type Asked, type Watched } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

const REPLAY_AGENT = join(import.meta.dirname, '..', '..', 'support', 'agents', 'replay-agent.mjs');
const fileOf = (capture: string): string => join(import.meta.dirname, '..', '..', 'fixtures', 'acp', `${capture}.ndjson`);

/** What the real agent answered to the last request of the captured run. */
function lastAnswer(capture: string): { result?: Record<string, unknown>; error?: unknown } {
  const lines = readFileSync(fileOf(capture), 'utf8').trim().split('\n');
  const frames = lines.map((line) => JSON.parse(line) as { dir: string; frame: Record<string, unknown> });
  return frames.findLast(({ dir, frame }) => dir === 'agent->client' && frame['method'] === undefined)!.frame;
}

const play = (adapter: string, capture: string, asked: Asked = {}): Promise<Watched> =>
  room.launch({
    ...asked,
    spec: { adapter, ...asked.spec },
    config: { ...asked.config, command: [process.execPath, REPLAY_AGENT, fileOf(capture)] },
  });

describe('a captured run of a real agent', () => {
  it.each([
    ['codex', 'codex-acp-fake-ok', null],
    [
      'claude',
      'claude-agent-acp-fake-ok',
      { inputTokens: 11, outputTokens: 7, totalTokens: 18, cost: { amount: 0.00023, currency: 'USD' } },
    ],
    ['opencode', 'opencode-fake-ok', { inputTokens: 11, outputTokens: 7, totalTokens: 18, cost: { amount: 0, currency: 'USD' } }],
    ['copilot', 'copilot-fake-ok', { inputTokens: 11, outputTokens: 7, totalTokens: 18 }],
  ])('of %s that went well ends its turn (%s)', async (adapter, capture, usage) => {
    const agent = await play(adapter, capture);
    expect(await agent.outcome()).toEqual({ kind: 'turn_ended', stopReason: 'end_turn', usage, lastMessage: 'Hello from the fake model.' });
    await agent.stop();
    await agent.gone();
  });

  it.each([
    ['codex', 'codex-acp-fake-401', 'Internal error: unexpected status 401 Unauthorized: Incorrect API key provided'],
    ['codex', 'codex-acp-fake-429', 'Internal error: exceeded retry limit, last status: 429 Too Many Requests'],
    ['codex', 'codex-acp-fake-500', "Internal error: We're currently experiencing high demand"],
    ['gemini', 'gemini-fake-401', '{"error":{"code":401,"message":"Request had invalid authentication'],
    ['claude', 'claude-agent-acp-fake-429-maxretries1', 'Internal error: API Error: Request rejected (429)'],
  ])('of %s that failed has the error frame as its payload, to the letter, and no output (%s)', async (adapter, capture, said) => {
    const agent = await play(adapter, capture);
    const payload = await agent.payload();
    expect(payload).toBe(JSON.stringify(lastAnswer(capture).error));
    expect(summary(payload).replaceAll('\\"', '"')).toContain(said.slice(0, 60));
    expect(await agent.outcome()).toMatchObject({ kind: 'error', evidence: { phase: 'prompt', outputSeen: false, effectSeen: false } });
    await agent.gone();
  });

  it.each([
    [
      'codex',
      'codex-acp2-fake-429',
      'exceeded retry limit, last status: 429 Too Many Requests, request id: req_fake\n\n',
      { threadStatus: 'systemError' },
    ],
    ['copilot', 'copilot-fake-401', expect.stringMatching(/^Error: Authentication failed with provider at .* \(HTTP 401\)/), {}],
  ])('of %s that failed in disguise is a failure all the same, without output (%s)', async (adapter, capture, payload, record) => {
    const agent = await play(adapter, capture);
    expect(await agent.outcome()).toMatchObject({ kind: 'error', payload, evidence: { outputSeen: false, record } });
    await agent.gone();
  });

  it('of opencode that answers a cancel with an empty turn was stopped', async () => {
    const agent = await play('opencode', 'opencode-fake-429-cancel', { limits: { firstContentMs: 2_000 } });
    await agent.until('session_ready');
    await agent.stop();
    expect(await agent.outcome()).toMatchObject({ kind: 'stopped' });
    await agent.gone();
  });

  it('of codex whose permission was refused ends its cancelled turn', async () => {
    const agent = await play('codex', 'codex-acp-fake-tool-escalate-reject', { config: { permissionPolicy: 'deny' } });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    await agent.stop();
  });

  it('of codex that loads a session tells none of its history', async () => {
    const agent = await play('codex', 'codex-acp-resume2-load', {
      spec: { acpSessionId: '01a22bff-3951-70b0-ac70-7cf33f37a96b' },
      limits: { firstContentMs: 300 },
    });
    expect(await agent.until('session_ready')).toMatchObject({ loaded: true, promptSent: 'Do it.' });
    expect(await agent.failure()).toMatchObject({ kind: 'no_first_event' });
    expect(agent.all('update').filter(({ content }) => content)).toEqual([]);
  });

  it('of gemini that no longer knows a session asks for a new one', async () => {
    const agent = await play('gemini', 'gemini-resume2-load', { spec: { acpSessionId: 'old' }, limits: { startMs: 2_000 } });
    // The capture ends with the refusal, so that the new session is never answered.
    expect(await agent.failure()).toMatchObject({ kind: 'start_timeout', phase: 'session' });
  });
});
