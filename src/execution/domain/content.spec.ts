import { describe, expect, it } from 'vitest';
import { isContent, showsUse } from './content.js';

const chunk = (sessionUpdate: string, text: string) => ({ sessionUpdate, content: { type: 'text', text } });

describe('isContent', () => {
  it.each([
    chunk('agent_message_chunk', 'a'),
    chunk('agent_thought_chunk', ' '),
    { sessionUpdate: 'agent_message_chunk', content: { type: 'image', data: '' } },
    { sessionUpdate: 'tool_call', toolCallId: 't' },
    { sessionUpdate: 'tool_call_update', toolCallId: 't' },
    { sessionUpdate: 'plan', entries: [] },
  ])('says yes to %j', (update) => {
    expect(isContent(update)).toBe(true);
  });

  it.each([
    chunk('agent_message_chunk', ''),
    chunk('user_message_chunk', 'a'),
    { sessionUpdate: 'available_commands_update', availableCommands: [{}] },
    { sessionUpdate: 'current_mode_update' },
    { sessionUpdate: 'config_option_update' },
    { sessionUpdate: 'session_info_update', title: 'x' },
    { sessionUpdate: 'usage_update', used: 18, size: 100 },
    { sessionUpdate: 'notice', text: 'x' },
    { sessionUpdate: 'compaction_update' },
    { sessionUpdate: '_vendor_update' },
    { sessionUpdate: 7 },
    {},
  ])('says no to %j', (update) => {
    expect(isContent(update)).toBe(false);
  });
});

describe('showsUse', () => {
  it('wants a count above zero', () => {
    expect([18, 0, -1, '18', undefined].map((used) => showsUse({ sessionUpdate: 'usage_update', used }))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(showsUse({ sessionUpdate: 'other', used: 18 })).toBe(false);
  });
});
