import { describe, expect, it } from 'vitest';
import { MockScriptError, readScript, scriptIn, stepKind } from './mock-script.js';

const first = { attempt: 1, turn: 1 };

describe('scriptIn', () => {
  it.each([
    ['a block', 'Do:\n```mock\n[{"say":"a"}]\n```\nthanks', [{ say: 'a' }]],
    ['a longer fence', '````mock\n[{"say":"```"}]\n````', [{ say: '```' }]],
    ['an indented block', '  ```mock\n  [{"say":"a"}]\n  ```', [{ say: 'a' }]],
    ['a quoted block', '> ```mock\n> [\n> {"say":"a"}]\n> ```\n', [{ say: 'a' }]],
    ['Windows line ends', '```mock\r\n[]\r\n```\r\n', []],
    ['a block that is not closed', '```mock\n[]', []],
    ['the first of two', '```mock\n[1]\n```\n```mock\n[2]\n```', [1]],
    ['text that is no JSON, as it stands', '```mock\nnope\n```', 'nope'],
  ])('finds %s', (_what, prompt, script) => {
    expect(scriptIn(prompt)).toEqual(script);
  });

  it.each(['', 'mock', '```json\n[]\n```', '```\nmock\n```', 'see ```mock'])('finds none in %j', (prompt) => {
    expect(scriptIn(prompt)).toBeNull();
  });
});

describe('readScript', () => {
  it('keeps the steps of this attempt and turn', () => {
    const script = [
      { say: 'always' },
      { say: 'first', when: { attempt: [1] } },
      { say: 'retry', when: { attempt: [2, 3] } },
      { say: 'later turn', when: { turn: [2] } },
      { say: 'both', when: { attempt: 2, turn: 2 } },
    ];
    const said = (attempt: number, turn: number) => readScript(script, { attempt, turn }, {}).map((step) => step['say']);
    expect(said(1, 1)).toEqual(['always', 'first']);
    expect(said(2, 2)).toEqual(['always', 'retry', 'later turn', 'both']);
  });

  it('expands names in every string, and leaves unknown ones', () => {
    const script = [{ call: { path: '/tasks/{{task_id}}/x', body: { list: ['{{run_id}} {{nope}}', 1, null] } } }];
    expect(readScript(script, first, { task_id: 'T', run_id: '$&' })).toEqual([
      { call: { path: '/tasks/T/x', body: { list: ['$& {{nope}}', 1, null] } } },
    ]);
  });

  it.each([[{}], ['text'], [[1]], [[null]], [[[]]], [[{}]], [[{ sing: 'x' }]]])('refuses %j', (script) => {
    expect(() => readScript(script, first, {})).toThrow(MockScriptError);
  });

  it('names a step by its one known key', () => {
    expect(stepKind({ when: {}, stop: 'end_turn', usage: {} })).toBe('stop');
  });
});
