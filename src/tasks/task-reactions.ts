import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';

/** What the reactions need to know of the task that changed. Its row is locked by the caller. */
export interface ChangedTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly assigneeId: string | null;
}

export type Closing = 'done' | 'cancelled' | 'archived' | 'deleted';

/**
 * What a change of a task does to runs, sessions and inbox items. Declared here, filled above (`recovery/`), so that
 * tasks know nothing of runs. Every method runs inside the caller's transaction, after the task's own row was written.
 */
export abstract class TaskReactions {
  /** A new assignee is woken (`task_assigned`); the old pair's runs, session and open items are retired (contract 8). */
  abstract assigneeChanged(tx: Tx, task: ChangedTask, from: string | null, actor: Actor): Promise<void>;

  /** Wakes the assignee (`user_comment`, or `agent_comment` from an agent) and each mentioned agent (`mentioned`). */
  abstract commented(
    tx: Tx,
    task: ChangedTask,
    comment: { readonly id: string; readonly interrupt: boolean; readonly mentionedAgentIds: readonly string[] },
    actor: Actor,
  ): Promise<void>;

  /**
   * The task is over: waiting runs are cancelled, live ones stopped (not for `done`), failure items dismissed, the tasks
   * it blocked and its parent woken where nothing else holds them.
   */
  abstract closed(tx: Tx, task: ChangedTask, how: Closing, actor: Actor): Promise<void>;

  /** A blocker was removed, or its state no longer blocks: whoever waits for nothing now may be claimed. */
  abstract unblocked(tx: Tx, task: ChangedTask, actor: Actor): Promise<void>;
}
