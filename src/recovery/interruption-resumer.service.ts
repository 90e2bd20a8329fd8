import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Interruptions } from '../inbox/interruptions.service.js';
import { STILL_INTERRUPTED } from '../inbox/open-items.sql.js';
import { THE_SYSTEM } from '../platform/actor.js';
import { Clock } from '../platform/clock/clock.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { isUnavailable } from '../platform/database/sqlstate.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { WakeService } from '../runs/wake.service.js';
import { SessionService } from '../sessions/session.service.js';
import { holdPairs } from './pair-locks.js';

interface Resumable {
  readonly run_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly task_id: string;
}

/** Only what can be continued: its conversation is known by id, its agent takes wakes, nobody has dealt with it. */
const RESUMABLE = `
  select r.id as run_id, r.workspace_id, r.agent_id, r.task_id
    from interruptions x
    join workspace_settings w on w.workspace_id = x.workspace_id and w.resume_interrupted = 'auto'
    join interruption_runs n on n.interruption_id = x.id
    join runs r on r.id = n.run_id
    join task_sessions s on s.id = r.session_id and s.acp_session_id is not null
    join agent_instances a on a.id = r.agent_id and a.lifecycle = 'active'
   where x.resolved_at is null and r.task_id is not null and ${STILL_INTERRUPTED}`;

const LOOK_EVERY_MS = 1_000;

/**
 * `resume_interrupted: auto`: in such a workspace an interrupted run goes on by itself, once (contract 4). The only recovery
 * without a person. Looks at open interruptions, of which there are hardly any, so that it does not matter who settled the run:
 * this server at its start, or another that found a lease run out.
 */
@Injectable()
export class InterruptionResumer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(InterruptionResumer.name);
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly sessions: SessionService,
    private readonly interruptions: Interruptions,
    private readonly wakes: WakeService,
    private readonly outage: DatabaseOutage,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.keepLooking(this.stopping.signal);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Resumes what can be resumed now; answers how many runs. One that cannot be does not keep the others. */
  async look(): Promise<number> {
    let resumed = 0;
    for (const run of await this.unitOfWork.read<Resumable>(`${RESUMABLE} order by r.id limit 200`)) {
      try {
        if (await this.unitOfWork.run(run.workspace_id, (tx) => this.resume(tx, run))) resumed++;
      } catch (error) {
        if (isUnavailable(error)) throw error;
        this.logger.error({ run_id: run.run_id, err: error }, 'interrupted run could not be resumed');
      }
    }
    return resumed;
  }

  private async keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const resumed = await this.look();
        if (resumed > 0) this.logger.log({ runs: resumed }, 'interrupted runs resumed');
        this.outage.recovered();
        await this.clock.sleep(LOOK_EVERY_MS, signal);
      } catch (error) {
        await this.clock.sleep(this.outage.failed(error), signal);
      }
    }
  }

  /** Judged again under the locks. The key says "once per run" to whatever may still go wrong. */
  private async resume(tx: Tx, { run_id, agent_id: agentId, task_id: taskId }: Resumable): Promise<boolean> {
    await holdPairs(tx, [{ agentId, taskId }]);
    const [still] = await tx.query(`${RESUMABLE} and r.workspace_id = $1 and r.id = $2`, [tx.workspaceId, run_id]);
    if (still === undefined) return false;
    await this.sessions.recoverFailed(tx, tx.workspaceId!, { agentId, taskId });
    await this.interruptions.resolveWhatIsOver(tx, { agentId, taskId });
    const answer = await this.wakes.wake(tx, {
      agentId,
      on: { taskId },
      reason: 'resumed_after_interruption',
      actor: THE_SYSTEM,
      key: `resumed:${run_id}`,
    });
    // Thrown, so that the session of a refused wake stays where a person finds it.
    if (answer.outcome === 'refused') throw new Error(`the wake of an interrupted run was refused: ${answer.refusedReason}`);
    return true;
  }
}
