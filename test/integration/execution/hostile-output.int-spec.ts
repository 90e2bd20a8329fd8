import { afterAll, describe, expect, it } from 'vitest';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOO_DEEP } from '../../../src/execution/domain/shallow.js';
import { ExecutionRoom, processesOf, waitFor } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

const MIB = 1024 * 1024;
const DONE = ['reply', { stopReason: 'end_turn' }] as const;
const base64 = (...parts: (string | number[])[]): string =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string))).toString('base64');

describe('hostile output', () => {
  it('of 50 MB in one frame is told whole', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['big', 50 * MIB], DONE] } });
    const outcome = await agent.outcome();
    expect(outcome).toMatchObject({ kind: 'turn_ended' });
    expect(agent.said).toHaveLength(50 * MIB);
    expect('lastMessage' in outcome && outcome.lastMessage).toHaveLength(32 * 1024);
    await agent.stop();
  });

  it('of more than 64 MiB in one frame is an error, and ends the agent before it can send the rest', async () => {
    const before = process.memoryUsage().rss;
    const agent = await room.launch({ deeds: { 'session/prompt': [['big', 400 * MIB], DONE] } });
    expect(await agent.failure()).toMatchObject({ kind: 'frame_too_large', limit_bytes: 64 * MIB });
    await agent.gone();
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MIB);
  });

  it('of 10 MB in an error keeps both its ends', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['big_error', 5 * MIB]] } });
    const payload = await agent.payload();
    expect(payload.startsWith('{"code":-32603,"message":"begin é')).toBe(true);
    expect(payload.endsWith('é end"}')).toBe(true);
    expect(payload).toContain(`cut, ${10 * MIB + '{"code":-32603,"message":"begin  end"}'.length} bytes in all`);
    expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(577 * 1024);
    await agent.gone();
  });

  it('of 1 MiB in an error is kept verbatim', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['big_error', 500 * 1024]] } });
    expect(JSON.parse(await agent.payload())).toEqual({ code: -32603, message: `begin ${'é'.repeat(500 * 1024)} end` });
  });

  it('of an error is verbatim, with its spaces, order and escapes', async () => {
    const raw = '{ "message":"a\\u0000b \\ud800 \\u00e9",  "code":-32603 , "data" : {"z":1,"a":[ ] } }';
    const agent = await room.launch({ deeds: { 'session/prompt': [['line', `{"jsonrpc":"2.0","error" : ${raw} ,"id":2}`]] } });
    expect(await agent.payload()).toBe(raw);
  });

  it('of NUL, lone surrogates, invalid UTF-8, ANSI and right-to-left text is told or stored', async () => {
    const update = (text: string): string =>
      `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"${text}"}}}}`;
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['line', update('\\u0000\\ud800\\u001b[31m')],
          ['line', update('שלום‮x😀')],
          ['bytes', base64(update('[').slice(0, -5), [0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80], ']"}}}}\n')],
          DONE,
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({
      kind: 'turn_ended',
      lastMessage: expect.stringContaining('\uFFFD\uFFFD\u001b[31mשלום‮x😀[\uFFFD\uFFFD(\uFFFD'),
    });
    await agent.stop();
  });

  it('that nests 100,000 deep is told as far as anybody can read it', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['deep', 100_000], ['say', 'x'], DONE] } });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended', lastMessage: 'x' });
    expect(JSON.stringify(agent.all('update')[0])).toContain(TOO_DEEP);
    await agent.stop();
  });

  it('that is no protocol is kept aside and ignored', async () => {
    const agent = await room.launch({
      deeds: {
        start: [
          ['line', 'npm warn deprecated'],
          ['bytes', base64([0x00, 0xff, 0xfe, 0x0a])],
          ['line', '[1,2]'],
          ['line', '{"level":"info","id":0,"error":"x"}'],
        ],
        'session/prompt': [
          ['line', '{not json}'],
          ['line', ''],
          ['say', 'x'],
          ['exit', 1],
        ],
      },
    });
    expect(await agent.failure()).toMatchObject({ kind: 'process_exit', stderr_tail: '' });
    const outcome = await agent.outcome();
    expect('evidence' in outcome && outcome.evidence.stdoutNoise).toBe(
      'npm warn deprecated\n\uFFFD\uFFFD\uFFFD\n[1,2]\n{"level":"info","id":0,"error":"x"}\n{not json}\n',
    );
  });

  it('of endless garbage without a line end is cut off', async () => {
    const agent = await room.launch({ deeds: { start: [['big', 100 * MIB]] }, limits: { startMs: 15_000 } });
    expect(await agent.failure()).toMatchObject({ kind: 'frame_too_large' });
    await agent.gone();
  });

  it('on stderr is kept to its end', async () => {
    const agent = await room.launch({
      deeds: {
        start: [
          ['stderr', 'x'.repeat(100_000)],
          ['stderr', 'the end'],
          ['exit', 1],
        ],
      },
    });
    const { stderr_tail: tail } = await agent.failure();
    expect(tail).toHaveLength(64 * 1024);
    expect(String(tail).endsWith('the end')).toBe(true);
  });
});

describe('an answer', () => {
  it.each([
    ['of an unknown stop reason', { stopReason: 'bored' }],
    ['without a stop reason', { done: true }],
  ])('%s is a malformed frame', async (_what, result) => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['say', 'x'],
          ['reply', result],
        ],
      },
    });
    expect(await agent.failure()).toEqual({ kind: 'malformed_frame', line: JSON.stringify({ jsonrpc: '2.0', id: 2, result }) });
    await agent.gone();
  });

  it.each([
    ['initialize', { initialize: [['reply', { hello: 1 }]] }, 'malformed_frame'],
    ['initialize in another version', { initialize: [['reply', { protocolVersion: 9 }]] }, 'protocol_version'],
    ['session/new', { 'session/new': [['reply', {}]] }, 'malformed_frame'],
    ['session/new with a NUL', { 'session/new': [['reply', { sessionId: 'a\0b' }]] }, 'malformed_frame'],
    ['session/new with half a character', { 'session/new': [['reply', { sessionId: 'a\ud800' }]] }, 'malformed_frame'],
    ['session/new without end', { 'session/new': [['reply', { sessionId: 'a'.repeat(1_025) }]] }, 'malformed_frame'],
    ['session/prompt', { 'session/prompt': [['line', '{"jsonrpc":"2.0","id":2}']] }, 'malformed_frame'],
    ['session/prompt with a list', { 'session/prompt': [['reply', [1]]] }, 'malformed_frame'],
  ])('of the wrong shape to %s is said to be one', async (_what, deeds, kind) => {
    const agent = await room.launch({ deeds: deeds as never });
    expect(await agent.failure()).toMatchObject({ kind });
    await agent.gone();
  });

  it.each([
    ['initialize', { initialize: [['error', { code: -32600, message: 'old' }]] }],
    ['session', { 'session/new': [['error', { code: -32000, message: 'Authentication required' }]] }],
    ['prompt', { 'session/prompt': [['error', { code: 401, message: '{"error":1}' }]] }],
  ])('that is an error fails the phase %s', async (phase, deeds) => {
    const agent = await room.launch({ deeds: deeds as never });
    expect(await agent.outcome()).toMatchObject({ kind: 'error', evidence: { phase, outputSeen: false, effectSeen: false } });
    expect(await agent.payload()).toBe(JSON.stringify((Object.values(deeds)[0]![0] as unknown[])[1]));
    await agent.gone();
  });

  it('of a refusal, of a cancel nobody asked for, or of nothing at all is no end of a turn', async () => {
    const turnOf = (...deeds: unknown[][]) => room.launch({ deeds: { 'session/prompt': deeds } });
    const refused = await turnOf(['say', 'I will not'], ['reply', { stopReason: 'refusal' }]);
    const cancelled = await turnOf(['say', 'x'], ['reply', { stopReason: 'cancelled' }]);
    const empty = await turnOf(
      ['update', { sessionUpdate: 'usage_update', used: 0 }],
      ['reply', { stopReason: 'end_turn', usage: { inputTokens: 0 } }],
    );
    expect(await refused.failure()).toEqual({ kind: 'refusal', message: 'I will not' });
    expect(await cancelled.failure()).toEqual({ kind: 'unexpected_cancel', message: 'x' });
    expect(await empty.failure()).toEqual({ kind: 'empty_turn' });
    for (const agent of [refused, cancelled, empty]) await agent.gone();
  });

  it('is not mistaken for ours when it carries another id', async () => {
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['frame', { id: 77, result: { stopReason: 'refusal' } }],
          ['frame', { id: '2', error: { code: 1, message: 'x' } }],
          ['say', 'x'],
          DONE,
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    await agent.stop();
  });
});

describe('an update', () => {
  it('of an unknown kind, without a session, or of another session is heeded, heeded, ignored', async () => {
    const chunk = (text: string) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['update', { sessionUpdate: 'martian_update', x: 1 }],
          ['update', chunk('a'), null],
          ['update', chunk('b'), 'other'],
          ['update', chunk('c')],
          DONE,
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({ lastMessage: 'ac' });
    expect(agent.all('update').map(({ content }) => content)).toEqual([false, true, true]);
    await agent.stop();
  });

  it('that comes after the answer, even in one piece with it, belongs to no turn', async () => {
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 2, result: { stopReason: 'end_turn' } });
    const late = JSON.stringify({
      jsonrpc: '2.0',
      method: 'session/update',
      params: { update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'late' } } },
    });
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['say', 'x'],
          ['line', `${answer}\n${late}`],
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({ lastMessage: 'x' });
    await agent.stop();
    await agent.gone();
    expect(agent.said).toBe('x');
  });
});

describe('20,000 updates', () => {
  it('are told in order, for less than 2 s of work', async () => {
    const agent = await room.launch({ deeds: { 'session/prompt': [['many', 20_000], DONE] } });
    await agent.until('session_ready');
    const start = process.cpuUsage();
    await agent.outcome();
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000).toBeLessThan(2_000);
    expect(agent.all('update')).toHaveLength(20_000);
    expect(agent.said).toBe(Array.from({ length: 20_000 }, (_value, place) => `tok${place} `).join(''));
    await agent.stop();
  });
});

describe('a slow reader', () => {
  it('holds the agent back at 8 MiB, loses nothing, and does not hold up a stop', async () => {
    const { executionId } = await room.runtime.launch(room.spec({ deeds: { 'session/prompt': [['flood', 400], DONE] } }));
    const reader = room.runtime.subscribeEvents(executionId)[Symbol.asyncIterator]();
    const sent = (): number => Number(readFileSync(join(room.folder, 'sent'), { encoding: 'utf8' }) || 0);
    await waitFor('the agent to be held back', async () => {
      const before = existsSync(join(room.folder, 'sent')) ? sent() : 0;
      await room.clock.sleep(250);
      return before > 0 && before === sent();
    });
    expect(sent() * 65_536).toBeGreaterThan(8 * MIB - 65_536);
    expect(sent() * 65_536).toBeLessThan(10 * MIB);
    const texts: string[] = [];
    for (;;) {
      const { value, done } = await reader.next();
      if (done || value.type === 'outcome') break;
      if (value.type === 'update') texts.push((value.update['content'] as { text: string }).text);
    }
    expect(texts.map((text) => Number(text.split(' ')[0]))).toEqual(Array.from({ length: 400 }, (_value, place) => place + 1));
    await room.runtime.stop(executionId, 'test');
    const unread = await room.runtime.launch(room.spec({ deeds: { 'session/prompt': [['flood', 400], DONE] } }));
    await waitFor('the second agent', () => room.runtime.getExecution(unread.executionId)?.state === 'prompting');
    await room.runtime.stop(unread.executionId, 'test');
    expect(processesOf(unread.executionId)).toEqual([]);
  });
});

describe('an agent that asks without end and reads no answer', () => {
  it('is not listened to until it does', async () => {
    const before = process.memoryUsage().rss;
    const agent = await room.launch({
      deeds: {
        'session/prompt': [
          ['say', 'x'],
          ['nag', 100 * MIB],
        ],
      },
      limits: { runMs: 2_500 },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'timed_out' });
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MIB);
    await agent.gone();
  });
});
