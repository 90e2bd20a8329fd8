import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { sqlList } from '../platform/database/sql-list.js';
import { LEAVES_TASK, type CancelReason, type StopReason } from './domain/cancel-reason.js';

/** Which runs: always within the workspace of the transaction. */
export type WhichRuns =
  'all' | { readonly runId: string } | { readonly taskId: string; readonly agentId?: string } | { readonly agentId: string };

interface Named {
  id: string;
  agent_id: string;
  task_id: string | null;
}

/** Parts of other rooms' commands that end runs from outside: waiting ones at once, running ones by asking their owner. */
@Injectable()
export class RunStops {
  /** Cancels waiting runs. Answers how many. */
  async cancelWaiting(tx: Tx, which: WhichRuns, reason: CancelReason): Promise<number> {
    const { sql, parameters } = where(tx, which);
    const runs = await tx.query<Named>(
      `update runs set status = 'cancelled', cancel_reason = $1, finished_at = clock_timestamp()
        where id in (select id from runs where ${sql} and status in ('queued', 'scheduled_retry') order by id for no key update)
          and status in ('queued', 'scheduled_retry')
       returning id, agent_id, task_id`,
      [reason, ...parameters],
    );
    for (const run of runs) {
      tx.emit('office.wakeup.updated', {
        wakeup_id: run.id,
        agent_id: run.agent_id,
        ...(run.task_id === null ? {} : { task_id: run.task_id }),
        status: 'cancelled',
      });
    }
    return runs.length;
  }

  /**
   * Asks the owners of running runs to stop them; committed with the caller's change. The first reason stands, unless the
   * agent now leaves the task for good: that decides what becomes of its session.
   */
  async askToStop(tx: Tx, which: WhichRuns, reason: StopReason): Promise<number> {
    const { sql, parameters } = where(tx, which);
    const leaves = sqlList([...LEAVES_TASK]);
    const stoppable = `status = 'running' and (stop_requested_at is null or ($1 in (${leaves}) and stop_requested_reason not in (${leaves})))`;
    const runs = await tx.query<Named>(
      `update runs set stop_requested_at = coalesce(stop_requested_at, clock_timestamp()), stop_requested_reason = $1
        where id in (select id from runs where ${sql} and ${stoppable} order by id for no key update) and ${stoppable}
       returning id, agent_id, task_id`,
      [reason, ...parameters],
    );
    if (runs.length > 0) tx.nudge('stop');
    return runs.length;
  }
}

function where(tx: Tx, which: WhichRuns): { sql: string; parameters: unknown[] } {
  if (which === 'all') return { sql: 'workspace_id = $2', parameters: [tx.workspaceId] };
  if ('runId' in which) return { sql: 'workspace_id = $2 and id = $3', parameters: [tx.workspaceId, which.runId] };
  if ('taskId' in which) {
    const agent = which.agentId === undefined ? '' : ' and agent_id = $4';
    return {
      sql: `workspace_id = $2 and task_id = $3${agent}`,
      parameters: [tx.workspaceId, which.taskId, ...(agent ? [which.agentId] : [])],
    };
  }
  return { sql: 'workspace_id = $2 and agent_id = $3', parameters: [tx.workspaceId, which.agentId] };
}
