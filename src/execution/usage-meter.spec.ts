import { describe, expect, it } from 'vitest';
import { UsageMeter } from './usage-meter.js';

const cost = (amount: number) => ({ sessionUpdate: 'usage_update', used: 1, cost: { amount, currency: 'USD' } });
const answer = (usage: object) => ({ kind: 'result', value: { stopReason: 'end_turn', usage }, line: '' }) as const;

describe('the usage of a turn', () => {
  it('leaves out what the conversation had cost before, also in an earlier process', () => {
    const meter = new UsageMeter();
    meter.hear(cost(2));
    expect(meter.part).toEqual({});
    meter.begin();
    expect(meter.part).toEqual({});
    meter.hear(cost(2.5));
    meter.hear({ sessionUpdate: 'plan' });
    meter.answered(answer({ inputTokens: 1, outputTokens: 1 }));
    expect(meter.usage).toEqual({ inputTokens: 1, outputTokens: 1, totalTokens: 2, cost: { amount: 0.5, currency: 'USD' } });
    meter.begin();
    expect(meter.usage).toBeNull();
    meter.hear(cost(3.5));
    expect(meter.part).toEqual({
      usage: { inputTokens: null, outputTokens: null, totalTokens: null, cost: { amount: 1, currency: 'USD' } },
    });
  });

  it('is not told by an error', () => {
    const meter = new UsageMeter();
    meter.begin();
    meter.answered({ kind: 'error', raw: '{}' });
    expect(meter.usage).toBeNull();
  });
});
