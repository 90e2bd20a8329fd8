import { describe, expect, it } from 'vitest';
import { TurnRecord } from './turn-record.js';

const say = (text: string, messageId?: string) => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
  ...(messageId === undefined ? {} : { messageId }),
});
const think = (text: string) => ({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
const tool = (status?: string, title?: string) => ({ sessionUpdate: 'tool_call', toolCallId: 't1', title: title ?? 'run', status });
const commands = { sessionUpdate: 'available_commands_update' };

const after = (...updates: object[]): TurnRecord => {
  const turn = new TurnRecord([/^Notice: /]);
  for (const update of updates) turn.take(update as Record<string, unknown>, 100);
  return turn;
};

describe('lastMessage', () => {
  it.each([
    ['null without a message', [commands], null],
    ['all chunks in a row', [say('a'), commands, say('b')], 'ab'],
    ['what came after a tool call', [say('a'), tool(), say('b'), say('c')], 'bc'],
    ['what came after a thought', [say('a'), think('x'), say('b')], 'b'],
    ['the message before a tool call when none followed', [say('a'), tool(), think('x')], 'a'],
    ['not broken by the progress of a tool', [say('a'), { ...tool('completed'), sessionUpdate: 'tool_call_update' }, say('b')], 'ab'],
    ['the message of the last id', [say('a', '1'), say('b', '2'), say('c', '2')], 'bc'],
    ['without what the agent says of itself', [say('Notice: hello\n'), say('a')], 'a'],
    ['storable', [say('a\u0000\ud800')], 'a\uFFFD\uFFFD'],
    ['whole where a character came in halves', [say('\ud83d'), say('\ude00')], '😀'],
  ])('is %s', (_what, updates, message) => {
    expect(after(...updates).lastMessage).toBe(message);
  });

  it('keeps 32 KiB at most, from one chunk or from many, and splits no character', () => {
    const many = after(...Array.from({ length: 20_000 }, () => say('é😀')));
    for (const turn of [after(say('😀'.repeat(20_000))), many]) {
      const bytes = Buffer.byteLength(turn.lastMessage!);
      expect(bytes).toBeLessThanOrEqual(32 * 1024);
      expect(bytes).toBeGreaterThan(32 * 1024 - 8);
      expect(turn.lastMessage).not.toContain('\uFFFD');
    }
  });
});

describe('outputSeen', () => {
  it.each([
    ['bookkeeping', [commands], false],
    ['a notice of its own', [say('Notice: x')], false],
    ['blank messages', [say(' \n')], false],
    ['a message', [say('a')], true],
    ['a thought', [think('a')], true],
    ['a tool call', [tool()], true],
    ['a plan', [{ sessionUpdate: 'plan', entries: [] }], true],
    ['an image', [{ sessionUpdate: 'agent_message_chunk', content: { type: 'image' } }], true],
  ])('of %s is %s', (_what, updates, seen) => {
    expect(after(...updates).outputSeen()).toBe(seen);
  });

  it('excuses a message that only repeats the error', () => {
    expect(after(say('API Error: '), say('429\n')).outputSeen(['API Error: 429'])).toBe(false);
    expect(after(say('ok', '1'), say('API Error: 429', '2')).outputSeen(['API Error: 429'])).toBe(true);
  });

  it('stays true when so much was said that it was forgotten', () => {
    const turn = after(...Array.from({ length: 40 }, (_value, place) => say(`message ${place}`, String(place))), say('error', 'last'));
    expect(turn.outputSeen(['error'])).toBe(true);
    expect(turn.lastMessage).toBe('error');
  });

  it('of a question for permission is true, and an effect', () => {
    const turn = after();
    turn.takePermission();
    expect([turn.contentSeen, turn.effectSeen, turn.outputSeen()]).toEqual([true, true, true]);
  });
});

describe('currentTool', () => {
  it('is the tool that has not ended', () => {
    expect(after(tool('in_progress', 'Read')).currentTool).toBe('Read');
    expect(
      after(tool('in_progress', 'Read'), { sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'completed' }).currentTool,
    ).toBeNull();
    expect(after({ sessionUpdate: 'tool_call', toolCallId: 't1' }).currentTool).toBe('t1');
  });
});
