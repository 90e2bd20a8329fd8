import { describe, expect, it } from 'vitest';
import { errorPayload, failurePayload, summary } from './error-payload.js';

describe('errorPayload', () => {
  it('is the text as it stood, spaces, order, escapes and all', () => {
    const raw = '{ "code":-32603,"message":"Internal error", "data":{"b":1,"a":"\\u00e9"} }';
    expect(errorPayload(raw)).toBe(raw);
  });
});

describe('failurePayload', () => {
  it('says how a process died, with the end of what it complained', () => {
    expect(failurePayload.processExit({ code: null, signal: 'SIGKILL' }, 'bad\u0000')).toBe(
      '{"kind":"process_exit","exit_code":null,"signal":"SIGKILL","stderr_tail":"bad\uFFFD"}',
    );
  });

  it('keeps 64 KiB of stderr at most', () => {
    const { stderr_tail: tail } = JSON.parse(failurePayload.processExit({ code: 1, signal: null }, `begin${'é'.repeat(100_000)}end`));
    expect(tail.endsWith('end')).toBe(true);
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(64 * 1024);
  });

  it('keeps both ends of a line that is no answer', () => {
    const { line } = JSON.parse(failurePayload.malformedFrame(`{"id":2,"x":"${'y'.repeat(5_000_000)}"}`));
    expect(line.startsWith('{"id":2')).toBe(true);
    expect(line.endsWith('"}')).toBe(true);
    expect(line.length).toBeLessThan(64 * 1024);
  });

  it.each([
    ['emptyTurn', failurePayload.emptyTurn(), { kind: 'empty_turn' }],
    ['folderGone', failurePayload.folderGone('/x\u0000'), { kind: 'folder_gone', path: '/x\uFFFD' }],
    ['spawnFailed', failurePayload.spawnFailed(['a', 'b'], 'no'), { kind: 'spawn_failed', command: 'a', problem: 'no' }],
    ['noFirstEvent', failurePayload.noFirstEvent(5, ''), { kind: 'no_first_event', limit_ms: 5, stderr_tail: '' }],
    ['protocolVersion', failurePayload.protocolVersion(7), { kind: 'protocol_version', offered: 7, supported: 1 }],
  ])('%s is a JSON object with a kind', (_name, payload, fields) => {
    expect(JSON.parse(payload)).toEqual(fields);
  });
});

describe('summary', () => {
  it.each([
    ['the message', '{"code":-32000,"message":"Authentication required"}', 'Authentication required'],
    [
      'data.message behind "Internal error"',
      '{"message":"Internal error","data":{"message":"429 Too Many Requests"}}',
      'Internal error: 429 Too Many Requests',
    ],
    [
      'data.details behind "Internal error"',
      '{"message":"Internal error.","data":{"details":"401 bad key"}}',
      'Internal error: 401 bad key',
    ],
    [
      'no data behind a message that says something',
      '{"message":"Internal error: Prompt is too long","data":{"details":"x"}}',
      'Internal error: Prompt is too long',
    ],
    ['"Internal error" when there is nothing else', '{"message":"Internal error","data":{"errorKind":"unknown"}}', 'Internal error'],
    ['one line of many', '{"message":"a\\n\\tb\\r\\n  c"}', 'a b c'],
    ['the payload when it has no message', '{"kind":"empty_turn"}', '{"kind":"empty_turn"}'],
    ['the payload when the message is no text', '{"message":{"a":1}}', '{"message":{"a":1}}'],
    ['the payload when it is no JSON', '{"message":"cut', '{"message":"cut'],
    ['plain text', 'exceeded retry limit\n\n', 'exceeded retry limit'],
    ['a list as it is', '[1,2]', '[1,2]'],
    ['nothing of nothing', '', ''],
    ['storable text', '{"message":"a\\u0000b\\ud800c"}', 'a\uFFFDb\uFFFDc'],
    ['no control characters', '{"message":"\\u001b[31mred\\u001b[0m\\u0085x"}', '[31mred [0m x'],
  ])('is %s', (_what, payload, said) => {
    expect(summary(payload)).toBe(said);
  });

  it('has 200 characters at most and splits none', () => {
    const said = summary(JSON.stringify({ message: '😀'.repeat(300) }));
    expect(Array.from(said)).toHaveLength(200);
    expect(said.isWellFormed()).toBe(true);
    expect(said.endsWith('…')).toBe(true);
    expect(summary('x'.repeat(200))).toBe('x'.repeat(200));
  });

  it('takes a cut payload of any size quickly', () => {
    const start = performance.now();
    summary(errorPayload(`{"message":"${' '.repeat(10_000_000)}"}`));
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
