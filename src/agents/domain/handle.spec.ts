import { describe, expect, it } from 'vitest';
import { freeHandle, handleFrom, handleStem, HANDLE_SHAPE } from './handle.js';

describe('handleFrom', () => {
  it.each([
    ['Ada', 'ada'],
    ['Ada Löwe', 'ada-lowe'],
    ['  --QA / Bot #2!  ', 'qa-bot-2'],
    ['_under_score_', 'under_score_'],
    ['ﬁnance', 'finance'],
    ['张伟', 'agent'],
    ['🤖', 'agent'],
    ['x'.repeat(200), 'x'.repeat(60)],
    [`${'x'.repeat(59)} yz`, 'x'.repeat(59)],
  ])('makes of %j the handle %s', (name, handle) => {
    expect(handleFrom(name)).toBe(handle);
    expect(handle).toMatch(HANDLE_SHAPE);
  });
});

describe('freeHandle', () => {
  it('keeps a handle that nobody has', () => {
    expect(freeHandle('ada', new Set(['bob']))).toBe('ada');
  });

  it('takes the first number that is free', () => {
    expect(freeHandle('ada', new Set(['ada', 'ada-2', 'ada-4']))).toBe('ada-3');
  });

  it.each(['a'.repeat(60), `${'a'.repeat(57)}-bc`])('keeps the shape of a handle as long as can be (%s)', (long) => {
    const taken = new Set([long]);
    for (let n = 0; n < 120; n++) taken.add(freeHandle(long, taken));
    expect(taken.size).toBe(121);
    for (const handle of taken) {
      expect(handle).toMatch(HANDLE_SHAPE);
      expect(handle.startsWith(handleStem(long))).toBe(true);
    }
  });
});
