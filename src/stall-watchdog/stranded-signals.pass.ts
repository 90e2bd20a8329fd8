import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { gatesOf, isUnknown, type SignalGate } from './domain/signal-disposition.js';
import { ScanRound } from './scan-round.js';
import { SignalReclaimer } from './signal-reclaimer.service.js';
import { StallMetrics } from './stall-metrics.js';
import { SignalledSessions, type SignalledSession } from './stall-readers.js';
import { StallTeller, type ToldStall } from './stall-teller.service.js';
import type { Tick } from './tick.js';

const PAGE = 2_000;

/** Agents said that their step is complete, and nothing came of it. Of the Office: shown. Of others: the turn is closed, the signal applied. */
@Injectable()
export class StrandedSignals {
  private readonly logger = new Logger(StrandedSignals.name);
  private readonly round = new ScanRound<SignalledSession, ToldStall>();

  constructor(
    @Optional() @Inject(SignalledSessions) private readonly sessions: SignalledSessions | undefined,
    private readonly teller: StallTeller,
    private readonly reclaimer: SignalReclaimer,
    private readonly metrics: StallMetrics,
    private readonly settings: OfficeSettings,
  ) {}

  forgetAll(): void {
    this.round.clear();
  }

  async look(tick: Tick): Promise<void> {
    const { sessions } = this;
    if (sessions === undefined) return this.metrics.skipped('candidate_lister_unwired');
    await this.round.go(tick, {
      take: PAGE,
      list: async (after) => {
        try {
          return await tick.read(() => sessions.list({ after, take: PAGE, workspaceId: null }, this.thresholdMs));
        } catch (error) {
          this.logger.debug({ err: error }, 'signals could not be listed');
          this.metrics.skipped('candidate_list_failed');
          return null;
        }
      },
      judge: (session) => this.judge(session),
      over: (stall) => this.teller.ended(stall),
      failed: ({ sessionId }, error) => this.logger.error({ session_id: sessionId, err: error }, 'signal could not be judged'),
    });
  }

  private async judge(session: SignalledSession): Promise<void> {
    const key = `${session.sessionId} ${session.stepId} ${session.signaledAt}`;
    if (isUnknown(session, this.thresholdMs)) {
      this.metrics.skipped('evidence_unknown');
      this.round.meet(key);
      return;
    }
    const { gate, disposition } = gatesOf(session, this.thresholdMs);
    if (disposition === 'reclaimable') return this.reclaimer.reclaim(session, gate);
    if (disposition === 'not_candidate') return;
    if (!this.round.meet(key)) await this.surface(key, session, gate);
  }

  private async surface(key: string, session: SignalledSession, gate: SignalGate): Promise<void> {
    const { workspaceId, taskId, sessionId, stepId } = session;
    const age = Math.round(session.signal!.ageMs);
    const stall: ToldStall = {
      workspaceId,
      kind: 'stranded_signal',
      task_id: taskId,
      session_id: sessionId,
      step_id: stepId,
      age_ms: age,
      ...(session.turn !== null && { run_id: session.turn.runId }),
    };
    if (!(await this.teller.strandedSignal(session, stall))) return;
    this.round.remember(key, stall);
    this.metrics.strandedSignal(gate);
    this.logger.warn(
      { task_id: taskId, session_id: sessionId, step_id: stepId, signal_age: age, gate },
      'office stall watchdog: Office task holds a stranded completion signal',
    );
  }

  private get thresholdMs(): number {
    return this.settings.OFFICE_STRANDED_SIGNAL_SEC * 1_000;
  }
}
