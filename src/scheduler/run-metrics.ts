import { Injectable } from '@nestjs/common';
import type { Counter, Histogram } from 'prom-client';
import { Metrics } from '../platform/metrics/metrics.js';
import type { Result, Settled } from '../settlement/domain/ending.js';
import { LiveRuns } from './live-runs.js';

export type StaleWrite = 'launch' | 'start' | 'note' | 'settle';

/** What operators watch of the runs of this server. */
@Injectable()
export class RunMetrics {
  private readonly endings: Counter<'status' | 'result'>;
  private readonly staleWrites: Counter<'write'>;
  private readonly seconds: Histogram;

  constructor(metrics: Metrics, live: LiveRuns) {
    this.endings = metrics.counter({
      name: 'office_runs_ended_total',
      help: 'Runs this server settled, by final status and by what their execution came to.',
      labels: ['status', 'result'],
    });
    this.staleWrites = metrics.counter({
      name: 'office_stale_writes_total',
      help: 'Writes that came after the run had been taken away from this server; they changed nothing.',
      labels: ['write'],
    });
    this.seconds = metrics.histogram({
      name: 'office_run_seconds',
      help: 'Claim to settlement.',
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200],
    });
    metrics.gauge({
      name: 'office_live_runs',
      help: 'Runs this server holds, processes that are still going down included.',
      collect: (gauge) => gauge.set(live.size),
    });
  }

  stale(write: StaleWrite): void {
    this.staleWrites.inc({ write });
  }

  settled(settled: Settled, result: Result, ms: number): void {
    if (settled === 'stale') this.stale('settle');
    else this.endings.inc({ status: settled, result: result.kind });
    this.seconds.observe(ms / 1_000);
  }
}
