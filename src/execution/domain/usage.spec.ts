import { describe, expect, it } from 'vitest';
import { isPositive, usageOf } from './usage.js';

describe('usageOf', () => {
  it.each([
    [
      { usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18, cachedReadTokens: 0 } },
      { inputTokens: 11, outputTokens: 7, totalTokens: 18 },
    ],
    [{ usage: { inputTokens: 11, outputTokens: 7 } }, { inputTokens: 11, outputTokens: 7, totalTokens: 18 }],
    [{ _meta: { quota: { token_count: { input_tokens: 11, output_tokens: 7 } } } }, { inputTokens: 11, outputTokens: 7, totalTokens: 18 }],
    [{ usage: { totalTokens: 5 } }, { inputTokens: null, outputTokens: null, totalTokens: 5 }],
    [{ usage: { inputTokens: -1, outputTokens: 'x', totalTokens: Infinity } }, null],
    [{ usage: null, _meta: { quota: { token_count: null } } }, null],
    [{}, null],
  ])('reads %j', (answer, usage) => {
    expect(usageOf(answer)).toEqual(usage);
  });

  it('knows a use from none', () => {
    expect(isPositive(null)).toBe(false);
    expect(isPositive({ inputTokens: 0, outputTokens: null, totalTokens: 0 })).toBe(false);
    expect(isPositive({ inputTokens: 0, outputTokens: 1, totalTokens: null })).toBe(true);
  });
});
