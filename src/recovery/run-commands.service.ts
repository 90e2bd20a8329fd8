import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { OfficeError } from '../platform/errors/office-error.js';
import type { RunStatus } from '../runs/domain/run-status.js';
import type { ManualRunDto } from '../runs/run.dto.js';
import { RunStops } from '../runs/run-stops.service.js';
import type { StopView, WakeAnswerView } from '../runs/run.view.js';
import { WakeService } from '../runs/wake.service.js';
import { PairRecovery } from './pair-recovery.service.js';

/** What a person may do to runs: ask for one, or end one. */
@Injectable()
export class RunCommands {
  constructor(
    private readonly commands: IdempotentCommands,
    private readonly wakes: WakeService,
    private readonly stops: RunStops,
    private readonly recovery: PairRecovery,
  ) {}

  /** A manual run. On a task whose session has failed it also recovers the pair, as every human wake does (contract 3). */
  askForRun(call: Call, workspaceId: string, agentId: string, { task_id, note }: ManualRunDto): Promise<WakeAnswerView> {
    return this.commands.once(call, workspaceId, async (tx) => {
      const { userId } = call.person;
      if (task_id !== undefined) {
        const [task] = await tx.query(`select id from tasks where workspace_id = $1 and id = $2 and deleted_at is null for no key update`, [
          workspaceId,
          task_id,
        ]);
        if (task === undefined) throw new OfficeError('not_found', { field: 'task_id' });
        await this.recovery.recover(tx, [{ taskId: task_id, agentId }], userId);
      }
      const answer = await this.wakes.wake(tx, {
        agentId,
        on: task_id === undefined ? { scope: 'manual' } : { taskId: task_id },
        reason: 'manual_run',
        actor: { kind: 'user', id: userId },
        ...(note === undefined ? {} : { note }),
      });
      // Thrown, so that nothing of a refused request stays behind, not even the recovery.
      if (answer.outcome === 'refused') throw new OfficeError('wake_refused', { reason: answer.refusedReason });
      return { run_id: answer.runId, outcome: answer.outcome };
    });
  }

  /** Waiting runs end at once; running ones are asked to stop and end `cancelled` when their process is gone. */
  cancel(call: Call, workspaceId: string, runId: string): Promise<StopView> {
    return this.commands.once(call, workspaceId, async (tx) => {
      const [run] = await tx.query<{ status: RunStatus }>(`select status from runs where workspace_id = $1 and id = $2 for no key update`, [
        workspaceId,
        runId,
      ]);
      if (run === undefined) throw new OfficeError('not_found');
      if (run.status === 'running') await this.stops.askToStop(tx, { runId }, 'cancelled_by_person');
      else if ((await this.stops.cancelWaiting(tx, { runId }, 'cancelled_by_person')) === 0) {
        throw new OfficeError('run_not_in_flight', { status: run.status });
      }
      const [now] = await tx.query<{ status: RunStatus; stop_requested_at: Date | null }>(
        `select status, stop_requested_at from runs where workspace_id = $1 and id = $2`,
        [workspaceId, runId],
      );
      return { run_id: runId, status: now!.status, stop_requested_at: now!.stop_requested_at?.toISOString() ?? null };
    });
  }
}
