import { describe, expect, it } from 'vitest';
import type { ExecutionEvent } from '../../execution/agent-runtime.js';
import { TranscriptDraft } from './draft.js';
import { RUN_CAPS } from './entry.js';
import { Masker } from './masking.js';

type Fields = Readonly<Record<string, unknown>>;
const update = (sessionUpdate: string, fields: Fields): ExecutionEvent => ({
  type: 'update',
  content: true,
  update: { sessionUpdate, ...fields },
});
const says = (text: string, messageId?: string): ExecutionEvent =>
  update('agent_message_chunk', { content: { type: 'text', text }, ...(messageId !== undefined && { messageId }) });
const works = (toolCallId: string, fields: Fields = {}): ExecutionEvent => update('tool_call_update', { toolCallId, ...fields });

function drafted(...events: ExecutionEvent[]) {
  const draft = new TranscriptDraft();
  for (const event of events) draft.take(event);
  return draft.batch();
}
const bodies = (events: ExecutionEvent[]) => drafted(...events).map(({ kind, body }) => [kind, body]);

describe('a draft', () => {
  it.each<[string, ExecutionEvent[], unknown[]]>([
    ['chunks of one kind are one entry', [says('a'), says('b')], [['message', 'ab']]],
    [
      'another kind begins another',
      [says('a'), update('agent_thought_chunk', { content: { type: 'text', text: 'b' } }), says('c')],
      [
        ['message', 'a'],
        ['thought', 'b'],
        ['message', 'c'],
      ],
    ],
    [
      'another message begins another',
      [says('a', '1'), says('b', '1'), says('c', '2')],
      [
        ['message', 'ab'],
        ['message', 'c'],
      ],
    ],
    [
      'a report on a tool that is there already is no interruption',
      [works('t'), says('a'), works('t', { status: 'completed' }), says('b')],
      [
        ['tool', ''],
        ['message', 'ab'],
      ],
    ],
    [
      'an image has its kind, size and hash',
      [update('agent_message_chunk', { content: { type: 'image', mimeType: 'image/png', data: 'AAAA' } })],
      [['message', '[image image/png, 3 bytes, sha256 709e80c88487a241]']],
    ],
    [
      'a change is a change',
      [works('t', { content: [{ type: 'diff', path: 'a.txt', oldText: 'x\ny', newText: 'z' }] })],
      [['tool', '[output]\n[change of a.txt]\n- x\n- y\n+ z']],
    ],
    [
      'places stand for what was given, where nothing else does',
      [works('t', { locations: [{ path: '/a', line: 3 }] })],
      [['tool', '[input]\n[at /a:3]']],
    ],
    [
      'content is shown, and what is raw only without it',
      [
        works('t', { rawOutput: { a: 1 }, content: [] }),
        works('u', { rawOutput: 'raw', content: [{ type: 'terminal', terminalId: '7' }] }),
      ],
      [
        ['tool', '[output]\n{"a":1}'],
        ['tool', '[output]\n[terminal 7]'],
      ],
    ],
    [
      'what has no shape is no reason to stop',
      [works('t', { content: 7, rawInput: null, title: 3 }), update('plan', { entries: 'no' }), update('agent_message_chunk', {})],
      [
        ['tool', ''],
        ['plan', ''],
        ['message', ''],
      ],
    ],
  ])('%s', (_what, events, expected) => expect(bodies(events)).toEqual(expected));

  it('gives a tool one entry, and keeps of its texts what an update does not replace', () => {
    const draft = new TranscriptDraft();
    draft.take(works('t', { title: 'ls', rawInput: { a: 1 } }));
    expect(draft.batch()).toMatchObject([{ place: 0, isNew: true, title: 'ls', status: 'pending', body: '[input]\n{"a":1}' }]);
    draft.take(works('t', { status: 'in_progress' }));
    expect(draft.batch()).toMatchObject([{ place: 0, isNew: false, title: 'ls', status: 'in_progress', body: null }]);
    draft.take(works('t', { status: 'completed', rawOutput: 'ok' }));
    expect(draft.batch()).toMatchObject([{ place: 0, isNew: false, status: 'completed', body: '[input]\n{"a":1}\n\n[output]\nok' }]);
    expect(draft.batch()).toEqual([]);
  });

  it('says so when it does not know any more what a tool was given', () => {
    const draft = new TranscriptDraft();
    for (let n = 0; n < 40; n++) {
      draft.take(works(`t${n}`, { rawInput: 'x'.repeat(60_000) }));
      draft.batch();
    }
    draft.take(works('t0', { status: 'completed' }));
    expect(draft.batch()).toMatchObject([{ place: 0, body: null }]);
    draft.take(works('t0', { rawOutput: 'late' }));
    expect(draft.batch()).toMatchObject([{ place: 0, body: '[output]\nlate', truncated: true }]);
    draft.take(works('t39', { rawOutput: 'now' }));
    expect(draft.batch()).toMatchObject([{ place: 39, truncated: false }]);
  });

  it('empties and marks tools and thoughts of a run that has more than it may keep, and no messages', () => {
    const draft = new TranscriptDraft();
    const each = 180_000;
    for (let n = 0; n * each <= RUN_CAPS.bytes; n++) {
      draft.take(works(`t${n}`, { rawOutput: 'y'.repeat(each) }));
      draft.batch();
    }
    draft.take(works('last', { rawOutput: 'z' }));
    draft.take(says('still here'));
    expect(draft.batch()).toMatchObject([
      { kind: 'tool', body: '', truncated: true, bytes: 1 },
      { kind: 'message', body: 'still here', truncated: false },
    ]);
  });

  it('masks names, titles, input, output, plans and notices', () => {
    const draft = new TranscriptDraft();
    const secret = 'correct horse';
    draft.hide(new Masker([{ name: 'S', value: secret }]));
    draft.take({ type: 'session_ready', acpSessionId: 'a', loaded: false, loadFailure: `no ${secret}`, promptSent: `use ${secret}` });
    draft.take(works(`id ${secret}`, { title: secret, status: 'failed', rawInput: { [secret]: secret }, rawOutput: secret }));
    draft.take(update('plan', { entries: [{ content: secret }] }));
    draft.take({
      type: 'permission_requested',
      requestId: 'p',
      request: { toolCall: { toolCallId: secret, title: secret }, options: [{ name: secret, kind: 'allow_once' }] },
      about: { title: secret, kind: null, input: null, subject: secret },
      waits: true,
    });
    draft.take({ type: 'outcome', outcome: { kind: 'error', payload: JSON.stringify({ message: secret }), evidence: null as never } });
    const written = draft.batch();
    expect(written).toHaveLength(6);
    expect(JSON.stringify(written)).not.toContain(secret);
    for (const entry of written) expect(JSON.stringify(entry)).toContain('[secret:S]');
  });
});
