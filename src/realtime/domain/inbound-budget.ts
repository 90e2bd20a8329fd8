/** How many messages a client may send: `burst` at once, `perSecond` in the long run. */
export interface InboundLimit {
  readonly burst: number;
  readonly perSecond: number;
}

export interface InboundBudget {
  readonly left: number;
  readonly atMs: number;
}

export const fullBudget = ({ burst }: InboundLimit, nowMs: number): InboundBudget => ({ left: burst, atMs: nowMs });

/** The budget after one more message; null when there was none left for it. */
export function spend(budget: InboundBudget, { burst, perSecond }: InboundLimit, nowMs: number): InboundBudget | null {
  const left = Math.min(burst, budget.left + ((nowMs - budget.atMs) / 1_000) * perSecond) - 1;
  return left < 0 ? null : { left, atMs: nowMs };
}
