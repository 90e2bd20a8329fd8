import { WAKE_REASONS, type WakeReason } from './wake-reason.js';

export type CancelledAsStale = 'task_not_found' | 'task_terminal' | 'assignee_changed' | 'participant_changed';

/** What the claim sees of the run's task, read under its lock. `null`: the run has no task. */
export interface TaskAtClaim {
  readonly state: string;
  readonly archived: boolean;
  readonly deleted: boolean;
  readonly assigneeId: string | null;
}

export interface WakeAtClaim {
  readonly id: string;
  readonly reason: WakeReason;
}

export interface Staleness {
  /** Why the whole run is worth nothing any more, or null. */
  readonly cancel: CancelledAsStale | null;
  /** Wakes that are left out of the prompt. */
  readonly staleWakeIds: readonly string[];
}

const TERMINAL: ReadonlySet<string> = new Set(['DONE', 'CANCELLED']);

/** Contract 4, staleness: a run is stale only if the task is over or all of its wakes are. */
export function judgeStaleness(task: TaskAtClaim | null, agentId: string, holdsSeat: boolean, wakes: readonly WakeAtClaim[]): Staleness {
  if (task === null) return { cancel: null, staleWakeIds: [] };
  const all = wakes.map(({ id }) => id);
  if (task.deleted) return { cancel: 'task_not_found', staleWakeIds: all };
  if (task.archived || TERMINAL.has(task.state)) return { cancel: 'task_terminal', staleWakeIds: all };
  const stale = wakes.filter(({ reason }) => {
    switch (WAKE_REASONS[reason].staleWhen) {
      case 'never':
        return false;
      case 'not_assignee':
        return task.assigneeId !== agentId;
      case 'seat_gone':
        return !holdsSeat;
    }
  });
  const staleWakeIds = stale.map(({ id }) => id);
  if (stale.length === 0 || stale.length < wakes.length) return { cancel: null, staleWakeIds };
  const onlySeats = stale.every(({ reason }) => WAKE_REASONS[reason].staleWhen === 'seat_gone');
  return { cancel: onlySeats ? 'participant_changed' : 'assignee_changed', staleWakeIds };
}
