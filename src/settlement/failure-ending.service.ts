import { Injectable } from '@nestjs/common';
import { summary } from '../execution/domain/error-payload.js';
import { Interruptions } from '../inbox/interruptions.service.js';
import { ProviderHolds } from '../inbox/provider-holds.service.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeHost } from '../platform/office-host.js';
import { cutBytes } from '../platform/text/storable.js';
import { noteRun } from '../runs/run-notes.js';
import type { Ending, Result, Settled } from './domain/ending.js';
import { Escalation } from './escalation.service.js';
import { FailureDiagnoser, type DiagnosedFailure } from './failure-diagnosis.service.js';
import { FailureRecorder } from './failure-recorder.service.js';
import { evidenceRow } from './result-rows.js';
import { RetryRepository } from './retry.repository.js';
import { restAfter, SettlementRepository, type LockedRun, type SettledRun, type StoredDiagnosis } from './settlement.repository.js';
import { tellAgent, tellRun, tellSession } from './tell.js';

const EVENT_TEXT_BYTES = 4 * 1024;

/** What the settlement does about a failure (contract 5, "Failure"). All under its locks, in its transaction. */
@Injectable()
export class FailureEnding {
  constructor(
    private readonly rows: SettlementRepository,
    private readonly retries: RetryRepository,
    private readonly diagnoser: FailureDiagnoser,
    private readonly failures: FailureRecorder,
    private readonly interruptions: Interruptions,
    private readonly holds: ProviderHolds,
    private readonly escalation: Escalation,
    private readonly settings: OfficeSettings,
    private readonly host: OfficeHost,
  ) {}

  /** A retry that waited too long fails after all, with what its last attempt failed with. False: it is no such retry. */
  async giveUp(tx: Tx, run: SettledRun, locked: LockedRun): Promise<boolean> {
    const last = await this.retries.giveUp(tx, run, { id: this.host.id, leaseSec: this.settings.OFFICE_LEASE_SEC });
    if (last === null) return false;
    await noteRun(tx, run.runId, 'run.too_old', 'warn', { retry_count: locked.run.retryCount });
    const known = last.code === null ? null : { code: last.code, class: last.class ?? 'unclassified', rule: '', retryAfterMs: null };
    await this.accountFor(tx, run, locked, { status: 'failed', payload: last.payload, diagnosis: known });
    return true;
  }

  /** The pair has succeeded: see `FailureRecorder.overcome`. */
  overcome(tx: Tx, run: SettledRun, locked: LockedRun): Promise<void> {
    return this.failures.overcome(tx, run, locked);
  }

  /** A failed or timed-out end; or, if it may be tried again, the wait for that. */
  async fail(
    tx: Tx,
    run: SettledRun,
    locked: LockedRun,
    ending: Ending & { status: 'failed' | 'timed_out' },
    result: Result,
  ): Promise<Settled> {
    const evidence = 'evidence' in result ? evidenceRow(result.evidence) : null;
    const failure = ending.kind === 'interrupted' ? null : this.diagnoser.of(run, locked, ending.payload, result);
    if (failure?.retry.retry === true) return this.retry(tx, run, locked, ending.payload, failure, evidence!);
    await this.rows.end(tx, run, {
      status: ending.status,
      outcome: ending.kind === 'interrupted' ? 'interrupted' : ending.status === 'timed_out' ? 'timed_out' : 'error',
      cancelReason: null,
      failureKind: ending.kind,
      errorMessage: ending.payload,
      errorSummary: summary(ending.payload),
      diagnosis: failure?.diagnosis ?? null,
      evidence,
      session: 'FAILED',
      endsSession: false,
    });
    if (failure !== null && failure.diagnosis.class === 'transient' && !failure.retry.retry) {
      await noteRun(tx, run.runId, 'run.not_retried', 'info', { because: failure.retry.because, rule: failure.diagnosis.rule });
    }
    if (ending.kind === 'interrupted') {
      await this.tellOfFailure(tx, run, ending.status, ending.payload);
      const { hostId, bootId } = locked.run;
      await this.interruptions.add(tx, run.runId, { hostId: hostId!, bootId: bootId!, cause: ending.cause });
      tellAgent(tx, locked.agent);
    } else {
      await this.accountFor(tx, run, locked, { status: ending.status, payload: ending.payload, diagnosis: failure!.diagnosis });
    }
    return ending.status;
  }

  /** Step 1 of a failure (contract 5): counter, task and inbox stay as they are, the run waits on its own row. */
  private async retry(
    tx: Tx,
    run: SettledRun,
    locked: LockedRun,
    payload: string,
    { diagnosis, retry }: DiagnosedFailure,
    evidence: object,
  ): Promise<Settled> {
    const session = restAfter(locked);
    const delaySec = retry.retry ? retry.delaySec : 0;
    const write = { delaySec, payload, summary: summary(payload), diagnosis, evidence };
    const survivor = await this.retries.waitAgain(tx, { ...run, scope: locked.run.scope }, session, write);
    await noteRun(tx, run.runId, 'run.retry_scheduled', 'info', {
      retry: locked.run.retryCount + 1,
      delay_sec: delaySec,
      code: diagnosis.code,
      rule: diagnosis.rule,
      ...(survivor === null ? {} : { merged_into: survivor }),
    });
    const said = cutBytes(payload, EVENT_TEXT_BYTES);
    if (survivor === null) tellRun(tx, run, 'scheduled_retry', said, 'retry_scheduled');
    else tellRun(tx, run, 'cancelled', said);
    tellSession(tx, run, session);
    tellAgent(tx, locked.agent);
    return survivor === null ? 'scheduled_retry' : 'merged';
  }

  /** Steps 3 to 8 of a failure that counts (contract 5). Its run has ended already. */
  private async accountFor(
    tx: Tx,
    run: SettledRun,
    locked: LockedRun,
    { status, payload, diagnosis }: { status: 'failed' | 'timed_out'; payload: string; diagnosis: StoredDiagnosis | null },
  ): Promise<void> {
    const short = summary(payload);
    await this.tellOfFailure(tx, run, status, payload);
    await this.failures.count(tx, run, locked, short);
    if (diagnosis?.code === 'quota' && diagnosis.retryAfterMs !== null) {
      const marginSec = this.settings.OFFICE_RESET_MARGIN_SEC;
      await this.holds.open(tx, { runId: run.runId, agentId: run.agentId, summary: short, resetAtMs: diagnosis.retryAfterMs, marginSec });
    }
    // One that went first and ran into the same limit has prolonged its hold just now, and is not the first any more.
    if (locked.run.wentFirst) await this.holds.firstHasEnded(tx, run.runId);
    await this.escalation.store(tx, run, locked, diagnosis, short);
  }

  private async tellOfFailure(tx: Tx, run: SettledRun, status: 'failed' | 'timed_out', payload: string): Promise<void> {
    const movedTask = run.taskId !== null && (await this.rows.toReview(tx, run.taskId));
    const error_message = cutBytes(payload, EVENT_TEXT_BYTES);
    tellRun(tx, run, status, error_message);
    tellSession(tx, run, 'FAILED', error_message);
    if (movedTask) tx.emit('office.task.updated', { task_id: run.taskId!, fields: ['state'] });
  }
}
