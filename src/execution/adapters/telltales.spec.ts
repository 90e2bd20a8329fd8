import { describe, expect, it } from 'vitest';
import { TurnRecord } from '../domain/turn-record.js';
import { codex, codexTelltale } from './codex.js';
import { copilot, copilotTelltale } from './copilot.js';

const say = (text: string, messageId?: string) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, messageId });
const info = (meta: object) => ({ sessionUpdate: 'session_info_update', _meta: { codex: meta } });

function turn(notices: readonly RegExp[] | undefined, ...updates: object[]): TurnRecord {
  const record = new TurnRecord(notices);
  for (const update of updates) record.take(update as Record<string, unknown>, 200);
  return record;
}

describe('the codex tell-tale', () => {
  const warning = say('Warning: Model metadata for `fake-model` not found. Defaulting to fallback metadata.\n\n');
  const active = info({ threadStatus: { type: 'active' } });
  const broken = info({ threadStatus: { type: 'systemError' } });
  const error = info({ error: { message: 'Reconnecting... 1/1', willRetry: true } });

  it('finds the error in a thread that ended broken, with its structured fields', () => {
    const record = turn(
      codex.notices,
      warning,
      active,
      say('Hello', 'msg_1'),
      error,
      broken,
      say('exceeded retry limit, last status: 429\n\n'),
    );
    expect(codexTelltale(record.signs({ stopReason: 'end_turn', usage: null }))).toEqual({
      text: 'exceeded retry limit, last status: 429\n\n',
      fields: { threadStatus: 'systemError', error: { message: 'Reconnecting... 1/1', willRetry: true } },
    });
  });

  it('believes a thread that recovered, or that tells nothing', () => {
    expect(codexTelltale(turn(undefined, broken, info({ threadStatus: { type: 'idle' } }), say('ok')).signs({}))).toBeNull();
    expect(codexTelltale(turn(undefined, error, say('ok')).signs({ usage: null }))).toBeNull();
    expect(codexTelltale(turn(undefined, { sessionUpdate: 'session_info_update', _meta: { codex: 7 } }).signs({}))).toBeNull();
  });

  it('has something to say even when the agent said nothing', () => {
    expect(codexTelltale(turn(undefined, broken).signs({}))).toMatchObject({ text: '{"threadStatus":"systemError"}' });
  });

  it('does not take the warning at the start for output', () => {
    const record = turn(codex.notices, warning, broken, say('429'));
    expect(record.outputSeen(['429'])).toBe(false);
  });
});

describe('the copilot tell-tale', () => {
  const retrying = say('Info: Request failed due to a transient API error. Retrying...');

  it('finds an error message of its own in a turn without usage', () => {
    const record = turn(copilot.notices, retrying, say('Error: Authentication failed (HTTP 401).'));
    expect(copilotTelltale(record.signs({ stopReason: 'end_turn' }))).toEqual({
      text: 'Error: Authentication failed (HTTP 401).',
      fields: {},
    });
    expect(record.outputSeen(['Error: Authentication failed (HTTP 401).'])).toBe(false);
  });

  it('believes a turn that used tokens, or whose last words are no error', () => {
    expect(copilotTelltale(turn(undefined, say('Error: x')).signs({ usage: { totalTokens: 1 } }))).toBeNull();
    expect(copilotTelltale(turn(undefined, say('Error: x'), say('fixed it')).signs({}))).toBeNull();
    expect(copilotTelltale(turn(undefined).signs({}))).toBeNull();
  });
});
