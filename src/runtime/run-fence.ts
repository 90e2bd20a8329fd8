import { Injectable } from '@nestjs/common';
import type { RunIdentity } from '../access/domain/run-access.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { LOCKED_TASK, type LockedTask } from '../tasks/task.repository.js';

/**
 * Tasks first, then the run, as everywhere (contract 5). The run's own task goes with a task of another agent: what follows may
 * reach it (a parent, a dependent), and by then the run is held.
 */
const HOLD = `
  with t as materialized (
    select ${LOCKED_TASK}, deleted_at from tasks where workspace_id = $1 and id = any($2::uuid[]) order by id for no key update
  ), r as materialized (
    select id from runs
     where workspace_id = $1 and id = $3 and generation = $4 and status = 'running' and stop_requested_at is null
       and (select count(*) from t) >= 0 for no key update
  )
  select r.id as run_id, to_jsonb(t) as task from r left join t on t.id = $5 and t.deleted_at is null`;

/** Holds a run for the length of a transaction: what it does and what it is told to stop doing happen one after the other. */
@Injectable()
export class RunFence {
  /** Answers the task that is going to be changed, locked; null for none. Refuses a run that has ended or is being stopped. */
  async hold(tx: Tx, run: RunIdentity, taskId: string | null): Promise<LockedTask | null> {
    const taskIds = taskId === null ? [] : run.taskId === null ? [taskId] : [taskId, run.taskId];
    const [held] = await tx.openWith<{ task: LockedTask | null }>(HOLD, [run.workspaceId, taskIds, run.runId, run.generation, taskId]);
    if (held === undefined) throw new OfficeError('invalid_runtime_token');
    if (taskId !== null && held.task === null) throw new OfficeError('not_found', { what: 'task', id: taskId });
    return held.task;
  }
}
