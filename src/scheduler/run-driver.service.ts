import { Injectable, Logger } from '@nestjs/common';
import { mkdir } from 'node:fs/promises';
import { AgentRuntime, type LaunchSpec } from '../execution/agent-runtime.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { Nudges } from '../platform/database/nudges.js';
import { Clock } from '../platform/clock/clock.js';
import type { ClaimedRun } from '../runs/claim.js';
import { RunOwnership } from '../runs/run-ownership.service.js';
import type { Result, Settled } from '../settlement/domain/ending.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { AgentConfigs } from './agent-configs.service.js';
import { LiveRuns } from './live-runs.js';
import { Persistence } from './persistence.js';
import { RunMetrics } from './run-metrics.js';
import { StartRecord } from './start-record.js';

interface Ended {
  readonly result: Result;
  readonly unrecordedStart?: string | undefined;
}

const LAUNCH_GRACE_MS = 5_000;
const START_MS = 60_000;
const PERMISSION_MS = 30 * 60_000;

/** Takes one claimed run from launch to settlement, and its processes to their end. Knows no SQL and no ACP. */
@Injectable()
export class RunDriver {
  private readonly logger = new Logger(RunDriver.name);

  constructor(
    private readonly runtime: AgentRuntime,
    private readonly ownership: RunOwnership,
    private readonly settlement: SettlementService,
    private readonly persistence: Persistence,
    private readonly configs: AgentConfigs,
    private readonly live: LiveRuns,
    private readonly nudges: Nudges,
    private readonly settings: OfficeSettings,
    private readonly metrics: RunMetrics,
    private readonly clock: Clock,
  ) {}

  /** Never rejects: whatever goes wrong ends the run, and is said in the log. The slot is free when this resolves. */
  async drive(run: ClaimedRun): Promise<void> {
    const began = this.clock.monotonicMs();
    this.live.add(run);
    try {
      const { result, unrecordedStart } = await this.resultOf(run);
      const settled = await this.settle({ ...run, unrecordedStart }, result);
      this.metrics.settled(settled, result, this.clock.monotonicMs() - began);
      this.logger.log({ ...namesOf(run), settled, result: result.kind }, 'run ended');
    } catch (error) {
      this.logger.error({ ...namesOf(run), err: error }, 'run could not be settled');
    } finally {
      await this.runtime.stop(run.executionId, 'run settled').catch((error: unknown) => {
        this.logger.error({ ...namesOf(run), err: error }, 'agent process could not be stopped');
      });
      this.live.remove(run);
      this.nudges.send(run.workspaceId, new Set(['work']));
    }
  }

  private async resultOf(run: ClaimedRun): Promise<Ended> {
    try {
      return await this.execute(run);
    } catch (error) {
      this.logger.error({ ...namesOf(run), err: error }, 'agent could not be launched');
      return { result: failedBeforeStart(run, error) };
    }
  }

  private async execute(run: ClaimedRun): Promise<Ended> {
    // A conversation that has begun must find its folder as it left it; anything else may have it made.
    if (run.acpSessionId === null) await mkdir(run.folder, { recursive: true, mode: 0o700 });
    const spec = await this.specOf(run);
    const ours = await this.persistence.untilHeard(() => this.ownership.markLaunched(run));
    if (!ours) return { result: { kind: 'stopped', reason: 'stopped before the launch' } };
    await this.runtime.launch(spec);
    let start: StartRecord | undefined;
    for await (const event of this.runtime.subscribeEvents(run.executionId)) {
      if (event.type === 'outcome') return { result: event.outcome, unrecordedStart: await start?.orLeaveIt() };
      if (event.type !== 'session_ready') continue;
      start = new StartRecord(event.acpSessionId, () =>
        this.persistence.untilHeard(() => this.ownership.markStarted(run, event.acpSessionId)),
      );
      if (event.loadFailure !== null) await this.noteLoadFailure(run, event.loadFailure);
    }
    throw new Error('the execution ended without an outcome');
  }

  private noteLoadFailure(run: ClaimedRun, error: string): Promise<void> {
    return this.persistence.untilHeard(() =>
      this.ownership.note(run, 'session.load_failed', 'warn', { acp_session_id: run.acpSessionId, error }),
    );
  }

  private async specOf(run: ClaimedRun): Promise<LaunchSpec> {
    const seconds = 1_000;
    return {
      executionId: run.executionId,
      adapter: run.adapter,
      config: await this.configs.launchConfig(run),
      cwd: run.folder,
      env: {
        OFFICE_RUN_ID: run.runId,
        OFFICE_AGENT_ID: run.agentId,
        OFFICE_WORKSPACE_ID: run.workspaceId,
        ...(run.taskId === null ? {} : { OFFICE_TASK_ID: run.taskId }),
        OFFICE_WAKE_REASON: run.reason,
        OFFICE_RUN_ATTEMPT: String(run.attempt),
        OFFICE_SESSION_TURN: String(run.turn),
      },
      prompt: run.prompt,
      acpSessionId: run.acpSessionId,
      identity: null,
      limits: {
        startMs: Math.min(START_MS, this.settings.OFFICE_FIRST_EVENT_TIMEOUT_SEC * seconds),
        firstContentMs: this.settings.OFFICE_FIRST_EVENT_TIMEOUT_SEC * seconds,
        runMs: this.settings.OFFICE_RUN_TIMEOUT_SEC * seconds,
        graceMs: LAUNCH_GRACE_MS,
        permissionMs: PERMISSION_MS,
      },
    };
  }

  /** A result that the database will not take (a bug of ours) must not leave the run running: it fails with that as its reason. */
  private async settle(run: ClaimedRun & Pick<Ended, 'unrecordedStart'>, result: Result): Promise<Settled> {
    try {
      return await this.persistence.untilHeard(() => this.settlement.settle(run, result));
    } catch (error) {
      this.logger.error({ ...namesOf(run), result: result.kind, err: error }, 'result could not be settled as it is');
      return this.persistence.untilHeard(() => this.settlement.settle(run, failedBeforeStart(run, error, 'settlement_failed')));
    }
  }
}

const namesOf = (run: ClaimedRun) => ({
  run_id: run.runId,
  generation: run.generation,
  execution_id: run.executionId,
  workspace_id: run.workspaceId,
  agent_id: run.agentId,
});

function failedBeforeStart(run: ClaimedRun, error: unknown, kind = 'launch_failed'): Result {
  const message = error instanceof Error ? error.message : String(error);
  return {
    kind: 'error',
    payload: JSON.stringify({ kind, message }),
    evidence: {
      executionId: run.executionId,
      acpSessionId: run.acpSessionId,
      phase: 'spawn',
      outputSeen: false,
      effectSeen: false,
      exit: null,
      stderrTail: '',
      stdoutNoise: '',
      record: null,
    },
  };
}
