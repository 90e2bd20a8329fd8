import { describe, expect, it } from 'vitest';
import type { Answer } from './frame.js';
import { TurnRecord } from './turn-record.js';
import { judgeTurn } from './turn-verdict.js';

const result = (value: Record<string, unknown>): Answer => ({ kind: 'result', value, line: JSON.stringify({ id: 2, result: value }) });

function turn(...texts: string[]): TurnRecord {
  const record = new TurnRecord();
  for (const text of texts) record.take({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }, 100);
  return record;
}

describe('judgeTurn', () => {
  it.each(['end_turn', 'max_tokens', 'max_turn_requests'])('takes %s for an end', (stopReason) => {
    expect(judgeTurn(result({ stopReason, usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }), turn('hi'), {})).toEqual({
      kind: 'ended',
      stopReason,
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
      lastMessage: 'hi',
    });
  });

  it.each([
    ['a refusal', { stopReason: 'refusal' }, { kind: 'refusal', message: 'hi' }],
    ['a cancel that nobody asked for', { stopReason: 'cancelled' }, { kind: 'unexpected_cancel', message: 'hi' }],
    ['an unknown stop reason', { stopReason: 'weird' }, { kind: 'malformed_frame', line: '{"id":2,"result":{"stopReason":"weird"}}' }],
    ['no stop reason', { foo: 1 }, { kind: 'malformed_frame', line: '{"id":2,"result":{"foo":1}}' }],
    [
      'a stop reason that is no text',
      { stopReason: ['end_turn'] },
      { kind: 'malformed_frame', line: '{"id":2,"result":{"stopReason":["end_turn"]}}' },
    ],
  ])('takes %s for a failure', (_what, value, payload) => {
    const verdict = judgeTurn(result(value), turn('hi'), {});
    expect(verdict.kind === 'failed' && JSON.parse(verdict.payload)).toEqual(payload);
  });

  it('takes a cancel for an end when a permission was refused in the turn', () => {
    const refused = turn('hi');
    refused.permissionRefused = true;
    expect(judgeTurn(result({ stopReason: 'cancelled' }), refused, {})).toMatchObject({ kind: 'ended', stopReason: 'end_turn' });
  });

  it('takes an error and a malformed answer for what they are', () => {
    expect(judgeTurn({ kind: 'error', raw: '{"code": 1}' }, turn(), {})).toMatchObject({ kind: 'failed', payload: '{"code": 1}' });
    expect(judgeTurn({ kind: 'malformed', line: 'x' }, turn(), {})).toMatchObject({ payload: '{"kind":"malformed_frame","line":"x"}' });
  });

  it('excuses the error text that the agent also said, with and without its prefix', () => {
    const verdict = judgeTurn({ kind: 'error', raw: '{"message":"Internal error: boom"}' }, turn('boom'), {
      errorPrefixes: ['Internal error: ', 'Other'],
    });
    expect(verdict).toMatchObject({ excused: ['Internal error: boom', 'boom'] });
  });

  it.each([
    ['nothing', turn(), {}, 'failed'],
    ['zero usage', turn(), { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } }, 'failed'],
    ['usage of null', turn(), { usage: null }, 'failed'],
    ['an empty chunk', turn(''), {}, 'failed'],
    ['content', turn('x'), {}, 'ended'],
    ['positive usage', turn(), { usage: { outputTokens: 1 } }, 'ended'],
    ['usage in the old place', turn(), { _meta: { quota: { token_count: { input_tokens: 3 } } } }, 'ended'],
  ])('judges a turn that ended with %s', (_what, record, more, kind) => {
    expect(judgeTurn(result({ stopReason: 'end_turn', ...more }), record, {}).kind).toBe(kind);
  });

  it('does not call a turn empty in which tokens were seen to be used, or that ended otherwise', () => {
    const used = turn();
    used.take({ sessionUpdate: 'usage_update', used: 5 }, 10);
    expect(judgeTurn(result({ stopReason: 'end_turn' }), used, {}).kind).toBe('ended');
    expect(judgeTurn(result({ stopReason: 'max_tokens' }), turn(), {}).kind).toBe('ended');
  });

  it('believes its adapter when that sees a failure in disguise', () => {
    const record = { text: '429', fields: { status: 'systemError' } };
    const verdict = judgeTurn(result({ stopReason: 'end_turn' }), turn('429'), { telltale: () => record });
    expect(verdict).toEqual({ kind: 'failed', payload: '429', excused: ['429'], record });
  });
});
