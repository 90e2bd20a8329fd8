import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';

/** What the reactions need to know of the task that changed. Its row is locked by the caller. */
export interface ChangedTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly assigneeId: string | null;
}

/** Whom a step asks to act, and why. */
export interface StepAsks {
  readonly agentIds: readonly string[];
  readonly reason: 'task_review_requested' | 'task_changes_requested';
  /** What they are told: what is handed over, or what is to be changed. */
  readonly note: string | null;
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

  /** It came to another step: what agents signalled of the one it left is void, and whoever the new one asks is woken. */
  abstract stepEntered(tx: Tx, task: ChangedTask, asks: StepAsks | null, actor: Actor): Promise<void>;

  /** A seat was given at the step where the task stands: its holder is asked like those who sat there before. */
  abstract seatGiven(tx: Tx, task: ChangedTask, agentId: string, actor: Actor): Promise<void>;

  /**
   * The task is over: waiting runs are cancelled, live ones stopped (not for `done`), failure items dismissed, the tasks
   * it blocked and its parent woken where nothing else holds them.
   */
  abstract closed(tx: Tx, task: ChangedTask, how: Closing, actor: Actor): Promise<void>;

  /** A blocker was removed, or its state no longer blocks: whoever waits for nothing now may be claimed. */
  abstract unblocked(tx: Tx, task: ChangedTask, actor: Actor): Promise<void>;
}
