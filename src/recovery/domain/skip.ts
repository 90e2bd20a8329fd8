/** Why recovery leaves a pair asleep. Its failure items are dismissed all the same: there is nothing to retry. */
export const SKIPS = [
  'task_not_found',
  'task_done',
  'task_cancelled',
  'task_archived',
  'not_assignee',
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
}

/**
 * Contract 8: skipped only when the task is over or the entitlement has lapsed. A reviewer, a mentioned agent and the
 * coordinator came without being the assignee, so nothing about the assignee takes theirs away.
 */
export function whySkipped(task: TaskNow | null, agentId: string, entitlement: Entitlement): Skip | null {
  if (task === null) return null;
  if (task.deleted) return 'task_not_found';
  if (task.archived) return 'task_archived';
  if (task.state === 'DONE') return 'task_done';
  if (task.state === 'CANCELLED') return 'task_cancelled';
  return entitlement === 'assignee' && task.assigneeId !== agentId ? 'not_assignee' : null;
}
