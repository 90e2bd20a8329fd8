import { Injectable } from '@nestjs/common';
import { Dismissals, tellFailure, tellPause, type AffectedRun } from '../inbox/dismissals.service.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { accountFailure, pauseReason, type FailureAction } from './domain/failure-accounting.js';
import type { LockedRun, SettledRun } from './settlement.repository.js';
import { tellAgent } from './tell.js';

/** Steps 5 to 7 of a failure (contract 5): the counter, the threshold, and what the inbox shows for it. */
@Injectable()
export class FailureRecorder {
  constructor(private readonly dismissals: Dismissals) {}

  async count(tx: Tx, run: SettledRun, locked: LockedRun, errorSummary: string): Promise<void> {
    const { failures, action } = accountFailure(locked.agent);
    if (action === 'item') await this.countOnly(tx, run, locked, failures);
    else await this.pause(tx, run, locked, { failures, action, errorSummary });
  }

  /**
   * The pair has succeeded. What the one statement of many good ends does not see to, because it is rare: failures of a pair
   * without a task, and those that an episode had swallowed, which must not come back when it is only lifted.
   */
  async overcome(tx: Tx, run: SettledRun, { run: { scope }, agent }: LockedRun): Promise<void> {
    if (run.taskId === null) await this.dismissals.dismissFailures(tx, { agentId: run.agentId, scope: scope! });
    else if (agent.currentPauseId !== null) await this.dismissals.leaveEpisode(tx, { agentId: run.agentId, taskId: run.taskId });
  }

  private async countOnly(tx: Tx, run: SettledRun, { agent, task }: LockedRun, failures: number): Promise<void> {
    await tx.query(`update agent_instances set consecutive_failures = $3 where workspace_id = $1 and id = $2`, [
      tx.workspaceId,
      agent.id,
      failures,
    ]);
    tellFailure(
      tx,
      {
        run_id: run.runId,
        agent_id: agent.id,
        agent_name: agent.name,
        task_id: run.taskId,
        identifier: task?.identifier ?? null,
        title: task?.title ?? null,
      },
      'opened',
    );
    tellAgent(tx, agent, { failures });
  }

  private async pause(
    tx: Tx,
    run: SettledRun,
    { agent, task }: LockedRun,
    { failures, action, errorSummary }: { failures: number; action: FailureAction; errorSummary: string },
  ): Promise<void> {
    const pauseId = newId();
    const reason = pauseReason(failures, errorSummary);
    const replaced = action === 'renew' ? await this.close(tx, agent.currentPauseId!) : [];
    await tx.query(`insert into agent_pauses (id, workspace_id, agent_id, reason, failures, affected) values ($1, $2, $3, $4, $5, '[]')`, [
      pauseId,
      tx.workspaceId,
      agent.id,
      reason,
      failures,
    ]);
    const dismissed = await this.dismissals.dismissFailures(tx, { agentId: agent.id, exceptRunId: run.runId }, { pauseId });
    await this.dismissals.dismiss(tx, 'agent_run_failed', run.runId, { pauseId });
    const own = { run_id: run.runId, task_id: run.taskId, identifier: task?.identifier ?? null, title: task?.title ?? null };
    const affected: AffectedRun[] = [...replaced, ...dismissed.map(asAffected), own];
    await tx.query(`update agent_pauses set affected = $3 where workspace_id = $1 and id = $2`, [
      tx.workspaceId,
      pauseId,
      JSON.stringify(affected),
    ]);
    if (agent.currentPauseId !== null && action === 'renew') await this.dismissals.handOver(tx, agent.currentPauseId, pauseId);
    await tx.query(
      `update agent_instances set consecutive_failures = $3, pause_reason = $4, pause_source = 'auto', current_pause_id = $5,
              paused_at = clock_timestamp() where workspace_id = $1 and id = $2`,
      [tx.workspaceId, agent.id, failures, reason, pauseId],
    );
    tellPause(tx, { id: pauseId, agent_id: agent.id, agent_name: agent.name, failures, affected }, 'opened');
    tellAgent(tx, agent, { failures, pauseReason: reason });
  }

  /** The open episode gives way to a new one: its item is dismissed by the office, its tasks go over. */
  private async close(tx: Tx, pauseId: string): Promise<AffectedRun[]> {
    const [closed] = await tx.query<{ affected: AffectedRun[] }>(
      `update agent_pauses set closed_at = clock_timestamp(), closed_by = 'replaced'
        where workspace_id = $1 and id = $2 and closed_at is null returning affected`,
      [tx.workspaceId, pauseId],
    );
    await this.dismissals.dismissPause(tx, pauseId);
    return closed?.affected ?? [];
  }
}

const asAffected = ({ run_id, task_id, identifier, title }: AffectedRun): AffectedRun => ({ run_id, task_id, identifier, title });
