import type { PermissionDecision } from '../agent-runtime.js';
import { isRecord } from './frame.js';

export type PermissionOutcome = { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };

export const CANCELLED: PermissionOutcome = { outcome: 'cancelled' };

/** Ids differ from agent to agent, kinds do not. Once is never answered with always: that would grant more than was said. */
const FITTING: Record<PermissionDecision | 'allow_any', readonly string[]> = {
  allow_once: ['allow_once'],
  allow_always: ['allow_always', 'allow_once'],
  allow_any: ['allow_once', 'allow_always'],
  deny: ['reject_once', 'reject_always'],
};

/** The offered option that says `decision`, or `cancelled` when none does. */
export function choosePermission(options: unknown, decision: PermissionDecision | 'allow_any'): PermissionOutcome {
  const offered = Array.isArray(options) ? options.filter(isRecord) : [];
  for (const kind of FITTING[decision]) {
    const option = offered.find((candidate) => candidate['kind'] === kind && typeof candidate['optionId'] === 'string');
    if (option) return { outcome: 'selected', optionId: option['optionId'] as string };
  }
  return CANCELLED;
}
