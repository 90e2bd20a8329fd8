import type { SessionState } from '../../sessions/domain/session-state.js';

/** What becomes of a session that may hold a stranded signal. */
export type SignalDisposition = 'not_candidate' | 'reclaimable' | 'surface_only';

/** Where it was seen: in a turn, or between two. */
export type SignalGate = 'candidate' | 'waiting_reconcile';

export interface SignalFacts {
  readonly state: SessionState;
  readonly isOffice: boolean;
  /** Somebody else speaks in it: what is silent there nobody can tell. */
  readonly isPassthrough: boolean;
  /** Null: nothing was signalled. */
  readonly signal: { readonly isCurrent: boolean; readonly ageMs: number } | null;
  /** Since the last sign of life; null: unknown, which is never read as silence. */
  readonly quietMs: number | null;
}

/**
 * The one predicate of both gates: a signal for the task's step as it stands, older than the threshold, in a session that has
 * been silent for as long. An Office task is shown and never touched.
 */
export function signalDisposition({ isOffice, isPassthrough, signal, quietMs }: SignalFacts, thresholdMs: number): SignalDisposition {
  if (isPassthrough || signal === null || !signal.isCurrent) return 'not_candidate';
  if (signal.ageMs <= thresholdMs || quietMs === null || quietMs <= thresholdMs) return 'not_candidate';
  return isOffice ? 'surface_only' : 'reclaimable';
}

/** A turn is under way. */
export const candidateGate = (facts: SignalFacts, thresholdMs: number): SignalDisposition =>
  facts.state === 'STARTING' || facts.state === 'RUNNING' ? signalDisposition(facts, thresholdMs) : 'not_candidate';

/** A turn is over and the signal was not applied. What has failed is an Office task's to be shown, another's to be recovered. */
export const waitingGate = (facts: SignalFacts, thresholdMs: number): SignalDisposition =>
  facts.state === 'WAITING_FOR_INPUT' || (facts.isOffice && (facts.state === 'IDLE' || facts.state === 'FAILED'))
    ? signalDisposition(facts, thresholdMs)
    : 'not_candidate';

export function gatesOf(facts: SignalFacts, thresholdMs: number): { gate: SignalGate; disposition: SignalDisposition } {
  const disposition = candidateGate(facts, thresholdMs);
  if (disposition !== 'not_candidate') return { gate: 'candidate', disposition };
  return { gate: 'waiting_reconcile', disposition: waitingGate(facts, thresholdMs) };
}

/** A turn of which nothing is known that would be judged if there were. */
export const isUnknown = (facts: SignalFacts, thresholdMs: number): boolean =>
  facts.quietMs === null && gatesOf({ ...facts, quietMs: Infinity }, thresholdMs).disposition !== 'not_candidate';
