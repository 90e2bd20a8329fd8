import { describe, expect, it } from 'vitest';
import { costOf, costSince, isPositive, usageOf, withCost } from './usage.js';

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
    [{ usage: { inputTokens: 1e300, outputTokens: 1.4 } }, { inputTokens: null, outputTokens: 1, totalTokens: 1 }],
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

describe('the cost of a turn', () => {
  const update = (cost: unknown) => ({ sessionUpdate: 'usage_update', used: 1, cost });
  it.each([
    [update({ amount: 0.5, currency: 'USD' }), { amount: 0.5, currency: 'USD' }],
    [update({ amount: 0, currency: 'EUR' }), { amount: 0, currency: 'EUR' }],
    [update({ amount: -1, currency: 'USD' }), null],
    [update({ amount: Number.NaN, currency: 'USD' }), null],
    [update({ amount: 1e10, currency: 'USD' }), null],
    [update({ amount: '1', currency: 'USD' }), null],
    [update({ amount: 1, currency: 'dollars' }), null],
    [update({ amount: 1 }), null],
    [update(null), null],
    [{ sessionUpdate: 'plan', cost: { amount: 1, currency: 'USD' } }, null],
  ])('is told by %j as %j', (told, cost) => {
    expect(costOf(told)).toEqual(cost);
  });

  const usd = (amount: number) => ({ amount, currency: 'USD' });
  it.each([
    ['the first that is told', null, usd(2), usd(2)],
    ['what came on top', usd(2), usd(5), usd(3)],
    ['nothing where nothing came on top', usd(2), usd(2), usd(0)],
    ['all of it where the agent counts anew', usd(5), usd(1), usd(1)],
    ['all of it in another currency', usd(1), { amount: 3, currency: 'EUR' }, { amount: 3, currency: 'EUR' }],
  ])('is %s', (_, before, now, cost) => {
    expect(costSince(before, now)).toEqual(cost);
  });

  it('goes with the tokens, or alone', () => {
    expect(withCost(null, null)).toBeNull();
    expect(withCost(null, usd(1))).toEqual({ inputTokens: null, outputTokens: null, totalTokens: null, cost: usd(1) });
    expect(withCost({ inputTokens: 1, outputTokens: 2, totalTokens: 3 }, null)).not.toHaveProperty('cost');
  });
});
