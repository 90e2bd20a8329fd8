import { describe, expect, it } from 'vitest';
import { readFrame } from './frame.js';
import { TOO_DEEP } from './shallow.js';

const rpc = (fields: object): string => JSON.stringify({ jsonrpc: '2.0', ...fields });

describe('readFrame', () => {
  it.each([
    '',
    '   ',
    'Loading…',
    '[1]',
    '[{"jsonrpc":"2.0","id":2,"result":{}}]',
    '{',
    '{"a":1}',
    '{"level":"error","id":2,"error":"x"}',
    '"x"',
    'null',
    '\uFFFD{',
  ])('takes %j for noise', (line) => {
    expect(readFrame(line, 2)).toEqual({ kind: 'noise' });
  });

  it.each([
    ['an id that is no id', rpc({ id: {}, method: 'x' })],
    ['a method that is no text', rpc({ id: 1, method: 5 })],
    ['neither id nor method', rpc({ result: {} })],
    ['an update without an update', rpc({ method: 'session/update', params: { sessionId: 's' } })],
    ['an update without params', rpc({ method: 'session/update' })],
  ])('takes a frame with %s for noise', (_what, line) => {
    expect(readFrame(line, 2)).toEqual({ kind: 'noise' });
  });

  it('reads an update of any kind, with or without a session', () => {
    const update = { sessionUpdate: 'martian_update', x: 1 };
    expect(readFrame(rpc({ method: 'session/update', params: { sessionId: 's', update } }), 2)).toEqual({
      kind: 'update',
      sessionId: 's',
      update,
    });
    expect(readFrame(rpc({ method: 'session/update', params: { update } }), 2)).toEqual({ kind: 'update', sessionId: null, update });
    expect(readFrame(rpc({ method: 'session/update', params: { sessionId: 7, update } }), 2)).toMatchObject({ sessionId: null });
  });

  it('passes requests and cancellations on, and ignores other notifications', () => {
    expect(readFrame(rpc({ id: 'a', method: 'fs/read_text_file', params: { path: '/' } }), 2)).toEqual({
      kind: 'request',
      id: 'a',
      method: 'fs/read_text_file',
      params: { path: '/' },
    });
    expect(readFrame(rpc({ id: null, method: 'x' }), 2)).toMatchObject({ kind: 'request', id: null });
    expect(readFrame(rpc({ method: '$/cancel_request', params: { requestId: 1 } }), 2)).toEqual({
      kind: 'cancel_request',
      params: { requestId: 1 },
    });
    expect(readFrame(rpc({ method: '_auth/status_update', params: {} }), 2)).toEqual({ kind: 'notification' });
  });

  it('reads the answer to our open request, lenient about an error of null', () => {
    const line = rpc({ id: 2, error: null, result: { stopReason: 'end_turn' } });
    expect(readFrame(line, 2)).toEqual({ kind: 'answer', answer: { kind: 'result', value: { stopReason: 'end_turn' }, line } });
    expect(readFrame(rpc({ id: 2, result: null }), 2)).toMatchObject({ answer: { kind: 'result', value: {} } });
  });

  it('keeps an error as it stood, whatever its shape', () => {
    const raw = '{"message" :"x",  "code":"not a number"}';
    expect(readFrame(`{"jsonrpc":"2.0","id":2,"error":${raw}}`, 2)).toEqual({ kind: 'answer', answer: { kind: 'error', raw } });
    expect(readFrame('{"jsonrpc":"2.0","id":2,"error":"boom"}', 2)).toMatchObject({ answer: { kind: 'error', raw: '"boom"' } });
  });

  it.each([
    ['nothing', {}],
    ['a list', { result: [1] }],
    ['a text', { result: 'ok' }],
    ['a number', { result: 7 }],
  ])('takes an answer of %s for malformed', (_what, fields) => {
    const line = rpc({ id: 2, ...fields });
    expect(readFrame(line, 2)).toEqual({ kind: 'answer', answer: { kind: 'malformed', line } });
  });

  it('does not take the answer to something else for ours', () => {
    expect(readFrame(rpc({ id: 3, result: {} }), 2)).toEqual({ kind: 'stray_answer' });
    expect(readFrame(rpc({ id: 2, result: {} }), null)).toEqual({ kind: 'stray_answer' });
    expect(readFrame(rpc({ id: '2', result: {} }), 2)).toEqual({ kind: 'stray_answer' });
    expect(readFrame('{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}', 2)).toEqual({ kind: 'stray_error', raw: '{"code":-32700}' });
  });

  it('cuts what nests too deeply for its readers', () => {
    const deep = `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"plan","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}}`;
    const frame = readFrame(deep, null);
    expect(JSON.stringify(frame)).toContain(TOO_DEEP);
  });
});
