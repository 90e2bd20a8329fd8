import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { isQuiet } from './domain/quiet-run.js';
import { ScanRound } from './scan-round.js';
import { StallMetrics } from './stall-metrics.js';
import { QuietTurns, type QuietTurn } from './stall-readers.js';
import { StallTeller, type ToldStall } from './stall-teller.service.js';
import type { Tick } from './tick.js';

const PAGE = 2_000;

/** Turns in which nothing has been heard for long. Shown, once for each attempt of a run, and nothing else. */
@Injectable()
export class QuietRuns {
  private readonly logger = new Logger(QuietRuns.name);
  private readonly round = new ScanRound<QuietTurn, ToldStall>();

  constructor(
    @Optional() @Inject(QuietTurns) private readonly turns: QuietTurns | undefined,
    private readonly teller: StallTeller,
    private readonly metrics: StallMetrics,
    private readonly settings: OfficeSettings,
  ) {}

  forgetAll(): void {
    this.round.clear();
  }

  async look(tick: Tick): Promise<void> {
    const { turns } = this;
    if (turns === undefined) return this.metrics.skipped('candidate_lister_unwired');
    await this.round.go(tick, {
      take: PAGE,
      list: async (after) => {
        try {
          return await tick.read(() => turns.list({ after, take: PAGE, workspaceId: null }, this.thresholdMs));
        } catch (error) {
          this.logger.debug({ err: error }, 'quiet turns could not be listed');
          this.metrics.skipped('candidate_list_failed');
          return null;
        }
      },
      judge: (turn) => this.judge(turn),
      over: (stall) => this.teller.ended(stall),
      failed: ({ runId }, error) => this.logger.error({ run_id: runId, err: error }, 'turn could not be judged'),
    });
  }

  private async judge(turn: QuietTurn): Promise<void> {
    const { workspaceId, taskId, sessionId, runId, generation } = turn;
    const key = `${runId} ${generation}`;
    if (turn.quietMs === null) {
      this.metrics.skipped('evidence_unknown');
      this.round.meet(key);
      return;
    }
    if (!isQuiet(turn, this.thresholdMs)) return;
    if (this.round.meet(key)) return;
    const stall: ToldStall = {
      workspaceId,
      kind: 'quiet_run',
      ...(taskId !== null && { task_id: taskId }),
      session_id: sessionId,
      run_id: runId,
      age_ms: Math.round(turn.quietMs),
    };
    if (await this.teller.quietRun(turn, stall)) this.round.remember(key, stall);
  }

  private get thresholdMs(): number {
    return this.settings.OFFICE_QUIET_SEC * 1_000;
  }
}
