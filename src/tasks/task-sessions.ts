import type { Reading } from '../platform/database/reading.js';
import type { UsageView } from '../workspaces/usage.view.js';

/** A conversation about a task, as the task shows it. */
export interface TaskSession {
  readonly id: string;
  readonly agentId: string;
  readonly state: string;
  readonly live: boolean;
}

/** Declared here, filled by `sessions/`, so that tasks know nothing of conversations. */
export abstract class TaskSessions {
  /** The newest sessions of each task, newest first, in one statement. Tasks without one may be missing from the answer. */
  abstract of(db: Reading, workspaceId: string, taskIds: readonly string[]): Promise<ReadonlyMap<string, readonly TaskSession[]>>;

  /** What all runs of a task have used; null where none told. */
  abstract usageOf(db: Reading, taskId: string): Promise<UsageView | null>;
}
