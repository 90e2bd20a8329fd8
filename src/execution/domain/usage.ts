import type { Cost, Usage } from '../agent-runtime.js';
import { kindOf } from './content.js';
import { isRecord, type Update } from './frame.js';

const MOST_COST = 1e9;

const count = (...candidates: unknown[]): number | null => {
  for (const value of candidates) if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return Math.round(value);
  return null;
};

/** The tokens an answer to `session/prompt` reports, in ACP's place or in the `_meta.quota` of agents that predate it. */
export function usageOf(answer: Readonly<Record<string, unknown>>): Usage | null {
  const meta = answer['_meta'];
  const quota = isRecord(meta) ? meta['quota'] : undefined;
  const reported = isRecord(answer['usage']) ? answer['usage'] : isRecord(quota) ? quota['token_count'] : undefined;
  if (!isRecord(reported)) return null;
  const inputTokens = count(reported['inputTokens'], reported['input_tokens']);
  const outputTokens = count(reported['outputTokens'], reported['output_tokens']);
  const sum = inputTokens === null && outputTokens === null ? null : count((inputTokens ?? 0) + (outputTokens ?? 0));
  const usage = { inputTokens, outputTokens, totalTokens: count(reported['totalTokens'], reported['total_tokens'], sum) };
  return Object.values(usage).every((value) => value === null) ? null : usage;
}

export const isPositive = (usage: Usage | null): boolean =>
  usage !== null && [usage.inputTokens, usage.outputTokens, usage.totalTokens].some((value) => (value ?? 0) > 0);

/** What the conversation has cost so far, by a `usage_update`; null where it does not say. */
export function costOf(update: Update): Cost | null {
  if (kindOf(update) !== 'usage_update' || !isRecord(update['cost'])) return null;
  const { amount, currency } = update['cost'];
  if (typeof amount !== 'number' || !(amount >= 0) || amount > MOST_COST) return null;
  return typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? { amount, currency } : null;
}

/**
 * What it has cost since `before`. Agents count from the beginning of their process or of the conversation; one that has
 * begun to count anew meanwhile shows less than before.
 */
export function costSince(before: Cost | null, now: Cost): Cost {
  const isSame = before !== null && before.currency === now.currency && before.amount <= now.amount;
  return isSame ? { amount: now.amount - before.amount, currency: now.currency } : now;
}

export function withCost(usage: Usage | null, cost: Cost | null): Usage | null {
  if (cost === null) return usage;
  return { ...(usage ?? { inputTokens: null, outputTokens: null, totalTokens: null }), cost };
}
