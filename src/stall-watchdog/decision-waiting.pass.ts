import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { undecided } from './domain/decision-wait.js';
import { ScanRound } from './scan-round.js';
import { StallMetrics, type SkipReason } from './stall-metrics.js';
import { RunsInFlight, StepDecisions, StepParticipants, TasksAtGates, type TaskAtGate } from './stall-readers.js';
import { StallTeller, type ToldStall } from './stall-teller.service.js';
import type { Tick } from './tick.js';

const PAGE = 2_000;

interface JudgedTask extends TaskAtGate {
  readonly isStalled: boolean;
}

/**
 * Office tasks that stand at a gate and wait for a decision nobody is about to make. In the order of cost: what an index
 * answers, then seats, then decisions, then runs. Whatever cannot be read ends the look of this tick, and says why.
 */
@Injectable()
export class DecisionWaiting {
  private readonly logger = new Logger(DecisionWaiting.name);
  private readonly round = new ScanRound<JudgedTask, ToldStall>();

  constructor(
    @Optional() @Inject(TasksAtGates) private readonly gates: TasksAtGates | undefined,
    @Optional() @Inject(StepParticipants) private readonly participants: StepParticipants | undefined,
    @Optional() @Inject(StepDecisions) private readonly decisions: StepDecisions | undefined,
    @Optional() @Inject(RunsInFlight) private readonly runs: RunsInFlight | undefined,
    private readonly teller: StallTeller,
    private readonly metrics: StallMetrics,
    private readonly settings: OfficeSettings,
  ) {}

  forgetAll(): void {
    this.round.clear();
  }

  async look(tick: Tick): Promise<void> {
    const { gates } = this;
    if (gates === undefined) return void this.skip('candidate_lister_unwired');
    await this.round.go(tick, {
      take: PAGE,
      list: async (after) => {
        const place = { after, take: PAGE, workspaceId: null };
        const page = await this.read(tick, 'candidate_list_failed', () => gates.list(place, this.thresholdMs));
        const stalled = page && (await this.stalledOf(tick, page));
        return stalled && page!.map((task) => ({ ...task, isStalled: stalled.has(task.taskId) }));
      },
      judge: (task) => this.judge(task),
      over: (stall) => this.teller.ended(stall),
      failed: ({ taskId }, error) => this.logger.error({ task_id: taskId, err: error }, 'task at a gate could not be judged'),
    });
  }

  /** Null: something that would have to be known could not be read. */
  private async stalledOf(tick: Tick, page: readonly TaskAtGate[]): Promise<ReadonlySet<string> | null> {
    const { participants, decisions, runs } = this;
    if (page.length === 0) return new Set();
    if (participants === undefined) return this.skip('participant_store_unwired');
    const seats = await this.read(tick, 'participant_read_failed', () => participants.of(page));
    if (seats === null) return null;
    const seated = page.filter(({ taskId }) => undecided(seats.get(taskId) ?? [], []).length > 0);
    if (seated.length === 0) return new Set();
    if (decisions === undefined) return this.skip('decision_store_unwired');
    const made = await this.read(tick, 'decision_read_failed', () => decisions.of(seated));
    if (made === null) return null;
    const waiting = seated.filter(({ taskId }) => undecided(seats.get(taskId)!, made.get(taskId) ?? []).length > 0);
    if (waiting.length === 0) return new Set();
    if (runs === undefined) return this.skip('run_reader_unwired');
    const busy = await this.read(tick, 'run_reader_error', () => runs.of(waiting));
    return busy && new Set(waiting.flatMap(({ taskId }) => (busy.has(taskId) ? [] : [taskId])));
  }

  private async judge(task: JudgedTask): Promise<void> {
    if (!task.isStalled) return;
    const { workspaceId, taskId, stepId } = task;
    const key = `${taskId} ${stepId}`;
    if (this.round.meet(key)) return;
    const waited = Math.round(task.waitedMs);
    const stall: ToldStall = { workspaceId, kind: 'decision_waiting', task_id: taskId, step_id: stepId, age_ms: waited };
    if (!(await this.teller.decisionWaiting(task, stall))) return;
    this.round.remember(key, stall);
    this.metrics.decisionWaiting();
    this.logger.warn(
      {
        task_id: taskId,
        step_id: stepId,
        task_updated_at: task.updatedAt.toISOString(),
        quiet_for: waited,
        threshold: this.thresholdMs,
      },
      'office stall watchdog: Office task is waiting on a decision that has not been recorded',
    );
  }

  private async read<T>(tick: Tick, reason: SkipReason, work: () => Promise<T>): Promise<T | null> {
    try {
      return await tick.read(work);
    } catch (error) {
      this.logger.debug({ reason, err: error }, 'tasks at gates could not be judged');
      return this.skip(reason);
    }
  }

  private skip(reason: SkipReason): null {
    this.metrics.skipped(reason);
    return null;
  }

  private get thresholdMs(): number {
    return this.settings.OFFICE_DECISION_WAIT_SEC * 1_000;
  }
}
