import { describe, expect, it } from 'vitest';
import { fullBudget, spend, type InboundBudget } from './inbound-budget.js';

const LIMIT = { burst: 3, perSecond: 2 };

describe('spend', () => {
  it('allows the burst and refuses the message after it', () => {
    let budget: InboundBudget | null = fullBudget(LIMIT, 0);
    for (let message = 0; message < LIMIT.burst; message++) budget = budget && spend(budget, LIMIT, 0);
    expect(budget).not.toBeNull();
    expect(spend(budget!, LIMIT, 0)).toBeNull();
    expect(spend(budget!, LIMIT, 499)).toBeNull();
    expect(spend(budget!, LIMIT, 500)).not.toBeNull();
  });

  it('saves up no more than the burst', () => {
    expect(spend(fullBudget(LIMIT, 0), LIMIT, 3_600_000)).toEqual({ left: 2, atMs: 3_600_000 });
  });
});
