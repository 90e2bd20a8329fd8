import { Injectable, Logger } from '@nestjs/common';
import { mkdir } from 'node:fs/promises';
import { AgentRuntime, type Evidence, type LaunchSpec, type Outcome } from '../execution/agent-runtime.js';
import { ProcessSupervision } from '../execution/supervisor/process-supervision.service.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { Nudges } from '../platform/database/nudges.js';
import { Clock } from '../platform/clock/clock.js';
import type { ClaimedRun } from '../runs/claim.js';
import { LaunchKit } from '../runs/launch-kit.js';
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
    private readonly supervision: ProcessSupervision,
    private readonly ownership: RunOwnership,
    private readonly settlement: SettlementService,
    private readonly persistence: Persistence,
    private readonly configs: AgentConfigs,
    private readonly kits: LaunchKit,
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
    let launched = false;
    try {
      const spec = await this.prepare(run);
      const ours = await this.persistence.untilHeard(() => this.ownership.markLaunched(run));
      if (!ours) return { result: { kind: 'stopped', reason: 'stopped before the launch' } };
      launched = true;
      await this.runtime.launch(spec);
      return await this.watch(run);
    } catch (error) {
      this.logger.error({ ...namesOf(run), err: error }, launched ? 'agent could not be watched' : 'agent could not be launched');
      return { result: failure(launched ? 'launch_failed' : 'preparation_failed', error, launched ? null : nothingHappened(run)) };
    }
  }

  private async prepare(run: ClaimedRun): Promise<LaunchSpec> {
    // A conversation that has begun must find its folder as it left it; anything else may have it made.
    if (run.acpSessionId === null) await mkdir(run.folder, { recursive: true, mode: 0o700 });
    return this.specOf(run);
  }

  private async watch(run: ClaimedRun): Promise<Ended> {
    let start: StartRecord | undefined;
    for await (const event of this.runtime.subscribeEvents(run.executionId)) {
      if (event.type === 'outcome') return { result: this.resultBy(event.outcome), unrecordedStart: await start?.orLeaveIt() };
      if (event.type !== 'session_ready') continue;
      start = new StartRecord(event.acpSessionId, () =>
        this.persistence.untilHeard(() => this.ownership.markStarted(run, event.acpSessionId)),
      );
      if (event.loadFailure !== null) await this.noteLoadFailure(run, event.loadFailure);
    }
    throw new Error('the execution ended without an outcome');
  }

  /** What the supervisor ended because our lease was over is no failure of the agent's (contract 4: not counted). */
  private resultBy(outcome: Outcome): Result {
    return outcome.kind === 'error' && this.supervision.leaseOver ? { kind: 'interrupted', cause: 'lost_lease' } : outcome;
  }

  /** A side note: when it cannot be written the turn goes on all the same. */
  private async noteLoadFailure(run: ClaimedRun, error: string): Promise<void> {
    try {
      await this.persistence.untilHeard(() =>
        this.ownership.note(run, 'session.load_failed', 'warn', { acp_session_id: run.acpSessionId, error }),
      );
    } catch (problem) {
      this.logger.error({ ...namesOf(run), err: problem }, 'note of a run could not be written');
    }
  }

  private async specOf(run: ClaimedRun): Promise<LaunchSpec> {
    const seconds = 1_000;
    const kit = await this.persistence.untilHeard(() => this.kits.pack(run), 1);
    return {
      executionId: run.executionId,
      adapter: run.adapter,
      config: await this.persistence.untilHeard(() => this.configs.launchConfig(run), 1),
      cwd: run.folder,
      env: {
        OFFICE_RUN_ID: run.runId,
        OFFICE_AGENT_ID: run.agentId,
        OFFICE_WORKSPACE_ID: run.workspaceId,
        ...(run.taskId === null ? {} : { OFFICE_TASK_ID: run.taskId }),
        OFFICE_WAKE_REASON: run.reason,
        OFFICE_RUN_ATTEMPT: String(run.attempt),
        OFFICE_SESSION_TURN: String(run.turn),
        ...kit.env,
      },
      mcp: kit.mcp,
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
      return this.persistence.untilHeard(() => this.settlement.settle(run, failure('settlement_failed', error, null)));
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

/** A failure of ours. Evidence is null where nothing is known of what the agent did meanwhile: never read as "nothing". */
function failure(kind: string, error: unknown, evidence: Evidence | null): Result {
  return { kind: 'error', payload: JSON.stringify({ kind, message: error instanceof Error ? error.message : String(error) }), evidence };
}

/** True before the launch only. */
const nothingHappened = (run: ClaimedRun): Evidence => ({
  executionId: run.executionId,
  acpSessionId: run.acpSessionId,
  phase: 'spawn',
  outputSeen: false,
  effectSeen: false,
  exit: null,
  stderrTail: '',
  stdoutNoise: '',
  record: null,
});
