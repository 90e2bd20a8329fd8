import type { CancelledAsStale } from './staleness.js';

/** Why a run ended `cancelled`: a person or a change asked for it, its cause went away, or another run took its wakes. */
export type StopReason =
  | 'cancelled_by_person'
  | 'assignee_changed'
  | 'interrupted_by_comment'
  | 'task_cancelled'
  | 'task_archived'
  | 'task_deleted'
  | 'agent_archived'
  | 'workspace_stopped'
  /** Its agent had said that the step is complete, and then nothing more. */
  | 'signal_reclaimed';

export type CancelReason = StopReason | CancelledAsStale | 'merged';

/** The agent is done with this task for good: its session ends with the run instead of resting. */
export const LEAVES_TASK: ReadonlySet<string> = new Set<StopReason>(['assignee_changed', 'task_deleted', 'agent_archived']);
