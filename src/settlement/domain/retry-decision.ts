import type { Phase } from '../../execution/agent-runtime.js';

export interface RetryQuestion {
  /** Transient, auto-retryable and fallback-allowed, said by a row of the catalogue. */
  readonly retryable: boolean;
  /** What else the execution left behind does not contradict its error. */
  readonly agrees: boolean;
  /** Whether the report carries the run, generation, session and execution that the database knows. */
  readonly identity: { readonly run: boolean; readonly generation: boolean; readonly session: boolean; readonly execution: boolean };
  /** What is known of this invocation; null is never read as "nothing happened". */
  readonly evidence: { readonly phase: Phase; readonly outputSeen: boolean; readonly effectSeen: boolean } | null;
  /** Retries of this run so far, of either tier. */
  readonly retryCount: number;
  /** Seconds since the run was asked for. */
  readonly ageSec: number;
}

export interface RetryDelays {
  /** Seconds, by the retries so far. */
  readonly postStart: readonly number[];
  readonly preLaunch: readonly number[];
}

export type RetryDecision = { readonly retry: true; readonly delaySec: number } | { readonly retry: false; readonly because: RetryRefusal };

export type RetryRefusal =
  | 'not_transient'
  | 'identity_mismatch'
  | 'evidence_unknown'
  | 'diagnosis_mismatch'
  | 'output_seen'
  | 'effect_seen'
  | 'retries_spent'
  | 'too_old';

const MOST_POST_START = 2;
const MOST_PRE_LAUNCH = 3;
const DAY_SEC = 86_400;
/** The claim gives a retry up beyond this (`run_too_old`): one that would become that old while it waits is a failure now. */
const MOST_ARRIVAL_SEC = 2 * 3_600;

/**
 * The one automatic retry (contract 6). `chance` is a number from 0 to 1: launches that failed together must not come back
 * together. The counter is shared: a retry before the launch leaves one fewer for after it.
 */
export function decideRetry(asked: RetryQuestion, delays: RetryDelays, chance: number): RetryDecision {
  const { evidence, identity, retryCount, ageSec } = asked;
  if (!asked.retryable) return no('not_transient');
  if (!identity.run || !identity.generation || !identity.session || !identity.execution) return no('identity_mismatch');
  if (evidence === null) return no('evidence_unknown');
  if (!asked.agrees) return no('diagnosis_mismatch');
  const launched = evidence.phase === 'prompt';
  if (launched && evidence.outputSeen) return no('output_seen');
  if (launched && evidence.effectSeen) return no('effect_seen');
  const delay =
    retryCount < (launched ? MOST_POST_START : MOST_PRE_LAUNCH) ? (launched ? delays.postStart : delays.preLaunch)[retryCount] : undefined;
  if (delay === undefined) return no('retries_spent');
  const delaySec = launched ? delay : delay * (1 + chance / 4);
  if (ageSec >= DAY_SEC || ageSec + delaySec > MOST_ARRIVAL_SEC) return no('too_old');
  return { retry: true, delaySec };
}

const no = (because: RetryRefusal): RetryDecision => ({ retry: false, because });
