import { Injectable, Logger } from '@nestjs/common';
import { AgentRuntime, type Evidence, type Outcome } from '../execution/agent-runtime.js';
import { ProcessSupervision } from '../execution/supervisor/process-supervision.service.js';
import { Nudges } from '../platform/database/nudges.js';
import { Clock } from '../platform/clock/clock.js';
import type { ClaimedRun } from '../runs/claim.js';
import { RunOwnership } from '../runs/run-ownership.service.js';
import type { Result, Settled } from '../settlement/domain/ending.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { maskResult, maskText } from '../transcript/domain/mask-result.js';
import { RunSecrets } from '../transcript/run-secrets.service.js';
import type { RunTranscript } from '../transcript/run-transcript.js';
import { Transcripts } from '../transcript/transcripts.service.js';
import { FolderProblem } from '../worktrees/domain/folder-problem.js';
import { LaunchPreparation } from './launch-preparation.service.js';
import { LiveRuns } from './live-runs.js';
import { PermissionKeeper } from './permission-keeper.service.js';
import { Persistence } from './persistence.js';
import { RunMetrics, type StaleWrite } from './run-metrics.js';
import { StartRecord } from './start-record.js';

interface Ended {
  readonly result: Result;
  readonly unrecordedStart?: string | undefined;
}

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
    private readonly preparation: LaunchPreparation,
    private readonly permissions: PermissionKeeper,
    private readonly transcripts: Transcripts,
    private readonly secrets: RunSecrets,
    private readonly live: LiveRuns,
    private readonly nudges: Nudges,
    private readonly metrics: RunMetrics,
    private readonly clock: Clock,
  ) {}

  /** Never rejects: whatever goes wrong ends the run, and is said in the log. The slot is free when this resolves. */
  async drive(run: ClaimedRun): Promise<void> {
    const began = this.clock.monotonicMs();
    this.live.add(run);
    try {
      const transcript = this.transcripts.open(run, (work) => this.persistence.untilHeard(work));
      const { result, unrecordedStart } = await this.resultOf(run, transcript);
      // Before it is settled: a terminal run has its whole transcript.
      await transcript.close();
      const settled = await this.settle({ ...run, unrecordedStart }, result);
      this.metrics.settled(settled, result, this.clock.monotonicMs() - began);
      this.logger.log({ ...namesOf(run), settled, result: result.kind }, 'run ended');
    } catch (error) {
      this.logger.error({ ...namesOf(run), err: error }, 'run could not be settled');
    } finally {
      await this.runtime.stop(run.executionId, 'run settled').catch((error: unknown) => {
        this.logger.error({ ...namesOf(run), err: error }, 'agent process could not be stopped');
      });
      this.permissions.forget(run);
      this.secrets.release(run);
      this.live.remove(run);
      this.nudges.send(run.workspaceId, new Set(['work']));
    }
  }

  private async resultOf(run: ClaimedRun, transcript: RunTranscript): Promise<Ended> {
    let launched = false;
    try {
      const spec = await this.preparation.prepare(run, transcript);
      const verdict = await this.persistence.untilHeard(() => this.ownership.markLaunched(run));
      if (verdict === 'lost') this.metrics.stale('launch');
      if (verdict !== 'launched') return { result: { kind: 'stopped', reason: 'stopped before the launch' } };
      launched = true;
      await this.runtime.launch(spec);
      return await this.watch(run, transcript);
    } catch (error) {
      if (!launched && this.preparation.givenUp) return { result: { kind: 'interrupted', cause: 'drain_deadline' } };
      this.logger.error({ ...namesOf(run), err: error }, launched ? 'agent could not be watched' : 'agent could not be launched');
      return { result: failure(launched ? 'launch_failed' : 'preparation_failed', error, launched ? null : nothingHappened(run)) };
    }
  }

  private async watch(run: ClaimedRun, transcript: RunTranscript): Promise<Ended> {
    let start: StartRecord | undefined;
    for await (const event of this.runtime.subscribeEvents(run.executionId)) {
      this.permissions.heed(run, event);
      // While it has no room the agent waits.
      await transcript.take(event);
      if (event.type === 'outcome') return { result: this.resultBy(event.outcome), unrecordedStart: await start?.orLeaveIt() };
      if (event.type !== 'session_ready') continue;
      start = new StartRecord(event.acpSessionId, () => this.asOwner('start', () => this.ownership.markStarted(run, event.acpSessionId)));
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
      await this.asOwner('note', () =>
        this.ownership.note(run, 'session.load_failed', 'warn', {
          acp_session_id: run.acpSessionId,
          error: maskText(this.secrets.of(run), error),
        }),
      );
    } catch (problem) {
      this.logger.error({ ...namesOf(run), err: problem }, 'note of a run could not be written');
    }
  }

  /** A write that only the owner may make: one that comes too late changes nothing and is counted (contract 4). */
  private async asOwner(what: StaleWrite, write: () => Promise<boolean>): Promise<void> {
    if (!(await this.persistence.untilHeard(write))) this.metrics.stale(what);
  }

  /** A result that the database will not take (a bug of ours) must not leave the run running: it fails with that as its reason. */
  private async settle(run: ClaimedRun & Pick<Ended, 'unrecordedStart'>, result: Result): Promise<Settled> {
    const settle = (told: Result): Promise<Settled> =>
      this.persistence.untilHeard(() => this.settlement.settle(run, maskResult(this.secrets.of(run), told)));
    try {
      return await settle(result);
    } catch (error) {
      this.logger.error({ ...namesOf(run), result: result.kind, err: error }, 'result could not be settled as it is');
      return settle(failure('settlement_failed', error, null));
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
  if (error instanceof FolderProblem) return { kind: 'error', payload: error.payload, evidence };
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
