/** Why recovery leaves a pair asleep. Its failure items are dismissed all the same: there is nothing to retry. */
export const SKIPS = [
  'task_not_found',
  'task_done',
  'task_cancelled',
  'task_archived',
  'not_assignee',
  'seat_gone',
  'agent_stopped',
  'agent_pending_approval',
  'agent_archived',
  'already_resumed',
] as const;
export type Skip = (typeof SKIPS)[number];

/** What gave a run its right to be there, stored with it when it was queued. */
export type Entitlement = 'assignee' | 'seat' | 'none';

/** Null: the run has no task. */
export interface TaskNow {
  readonly state: string;
  readonly archived: boolean;
  readonly deleted: boolean;
  readonly assigneeId: string | null;
  /** The agents that may decide at the step where it stands. */
  readonly deciders: readonly string[];
}

/**
 * Contract 8: skipped only when the task is over or the entitlement has lapsed: an assignee's with the assignment, a reviewer's
 * with the seat. A mentioned agent and the coordinator came with neither, so nothing takes theirs away.
 */
export function whySkipped(task: TaskNow | null, agentId: string, entitlement: Entitlement): Skip | null {
  if (task === null) return null;
  if (task.deleted) return 'task_not_found';
  if (task.archived) return 'task_archived';
  if (task.state === 'DONE') return 'task_done';
  if (task.state === 'CANCELLED') return 'task_cancelled';
  if (entitlement === 'seat' && !task.deciders.includes(agentId)) return 'seat_gone';
  return entitlement === 'assignee' && task.assigneeId !== agentId ? 'not_assignee' : null;
}
