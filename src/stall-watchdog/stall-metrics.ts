import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Metrics } from '../platform/metrics/metrics.js';
import type { SignalGate } from './domain/signal-disposition.js';

/** Why something was not judged. Counted once for each time, so that a watchdog that cannot see is told from an office where all is well. */
export type SkipReason =
  | 'run_reader_unwired'
  | 'run_reader_error'
  | 'participant_store_unwired'
  | 'decision_store_unwired'
  | 'participant_read_failed'
  | 'decision_read_failed'
  | 'candidate_lister_unwired'
  | 'candidate_list_failed'
  /** Of a turn whose owner has not said for too long what it sees. */
  | 'evidence_unknown';

@Injectable()
export class StallMetrics {
  private readonly stranded: Counter<'gate'>;
  private readonly waiting: Counter;
  private readonly skips: Counter<'reason'>;

  constructor(metrics: Metrics) {
    this.stranded = metrics.counter({
      name: 'office_stall_stranded_signal_total',
      help: 'Completion signals of Office tasks found stranded, by where.',
      labels: ['gate'],
    });
    this.waiting = metrics.counter({
      name: 'office_stall_decision_waiting_total',
      help: 'Office tasks found waiting for a decision that nobody has recorded.',
    });
    this.skips = metrics.counter({
      name: 'office_stall_detector_skipped_total',
      help: 'What the stall watchdog could not judge, by reason.',
      labels: ['reason'],
    });
  }

  strandedSignal(gate: SignalGate): void {
    this.stranded.inc({ gate });
  }

  decisionWaiting(): void {
    this.waiting.inc();
  }

  skipped(reason: SkipReason): void {
    this.skips.inc({ reason });
  }
}
