import { classify, type Diagnosis } from './classifier.js';

/** All that an execution left behind of its failure. Never anything the agent said otherwise. */
export interface FailureReport {
  readonly provider: string;
  readonly payload: string;
  /** Structured fields of a turn that failed in disguise; null for every other failure. */
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly stderrTail: string;
}

export interface FailureDiagnosis extends Diagnosis {
  /** Nothing of its last complaints names a lasting cause that the error does not. */
  readonly agrees: boolean;
}

const STDERR_READ = 8 * 1024;

export function diagnose({ provider, payload, record, stderrTail }: FailureReport, nowMs: number): FailureDiagnosis {
  if (record !== null && Object.keys(record).length === 0) {
    // Only its silence on usage gave the failure away: that is no ground to call anything passing (contract 5).
    const said = classify(provider, payload, nowMs);
    return { ...said, class: 'unclassified', retryable: false, why: `no structured field; ${said.why}`, agrees: true };
  }
  const diagnosis = classify(provider, record === null ? payload : `${payload}\n${JSON.stringify(record)}`, nowMs);
  if (!diagnosis.retryable || stderrTail === '') return { ...diagnosis, agrees: true };
  const aside = classify(provider, stderrTail.slice(-STDERR_READ), nowMs);
  return { ...diagnosis, agrees: aside.class !== 'hard' };
}
