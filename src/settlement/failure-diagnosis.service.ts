import { Injectable } from '@nestjs/common';
import { diagnose, type FailureDiagnosis } from '../diagnosis/domain/diagnose.js';
import { resetMs } from '../diagnosis/domain/reset-time.js';
import type { Evidence } from '../execution/agent-runtime.js';
import { Clock } from '../platform/clock/clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import type { Result } from './domain/ending.js';
import { decideRetry, type RetryDecision } from './domain/retry-decision.js';
import type { LockedRun, SettledRun, StoredDiagnosis } from './settlement.repository.js';

/** A reset further away than the longest window any provider has is no reset. */
const MOST_WAIT_MS = 40 * 86_400_000;

export interface DiagnosedFailure {
  readonly diagnosis: StoredDiagnosis;
  readonly retry: RetryDecision;
}

/** Says why a run failed, and whether it may be tried again by itself. Decides, and changes nothing. */
@Injectable()
export class FailureDiagnoser {
  constructor(
    private readonly settings: OfficeSettings,
    private readonly clock: Clock,
  ) {}

  /** `result` is what the execution came to; null evidence when nothing is known of it. */
  of(run: SettledRun, locked: LockedRun, payload: string, result: Result): DiagnosedFailure {
    const now = this.clock.now().getTime();
    const evidence = 'evidence' in result ? result.evidence : null;
    const report = { provider: locked.agent.adapter, payload, record: evidence?.record ?? null, stderrTail: evidence?.stderrTail ?? '' };
    const found = diagnose(report, now);
    return {
      diagnosis: { code: found.code, class: found.class, rule: found.rule, retryAfterMs: trusted(found, now) },
      // Only an error is ever retried: a turn that ran into its limit had hours.
      retry: result.kind === 'error' ? this.decide(run, locked, found, evidence) : { retry: false, because: 'not_transient' },
    };
  }

  private decide(run: SettledRun, locked: LockedRun, found: FailureDiagnosis, evidence: Evidence | null): RetryDecision {
    const { OFFICE_RETRY_DELAYS_SEC: postStart, OFFICE_PRELAUNCH_DELAYS_SEC: preLaunch } = this.settings;
    const question = {
      retryable: found.retryable,
      agrees: found.agrees,
      identity: identityOf(run, locked, evidence),
      evidence: evidence === null ? null : { ...evidence, effectSeen: evidence.effectSeen || locked.run.acted },
      retryCount: locked.run.retryCount,
      ageSec: locked.run.ageSec,
    };
    return decideRetry(question, { postStart, preLaunch }, Math.random());
  }
}

/** The report must carry the very run, claim, conversation and process that the database knows. */
function identityOf(run: SettledRun, { run: row, session }: LockedRun, evidence: Evidence | null) {
  return {
    run: row.id === run.runId,
    generation: row.generation === run.generation,
    session:
      row.sessionId === run.sessionId &&
      (evidence?.phase !== 'prompt' || evidence.acpSessionId === (run.unrecordedStart ?? session.acpSessionId)),
    execution: evidence !== null && row.executionId === evidence.executionId,
  };
}

function trusted({ retryAfter }: FailureDiagnosis, nowMs: number): number | null {
  if (retryAfter === null) return null;
  const ms = resetMs(retryAfter, nowMs);
  return ms > nowMs && ms - nowMs < MOST_WAIT_MS ? Math.round(ms) : null;
}
