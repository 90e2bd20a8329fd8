import type { Usage } from '../agent-runtime.js';
import { isRecord } from './frame.js';

const count = (...candidates: unknown[]): number | null => {
  for (const value of candidates) if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
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
  const sum = inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
  const usage = { inputTokens, outputTokens, totalTokens: count(reported['totalTokens'], reported['total_tokens'], sum) };
  return Object.values(usage).every((value) => value === null) ? null : usage;
}

export const isPositive = (usage: Usage | null): boolean => usage !== null && Object.values(usage).some((value) => (value ?? 0) > 0);
