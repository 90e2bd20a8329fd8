import type { Capability } from '../access/domain/capabilities.js';
import type { Tx } from '../platform/database/tx.js';

/**
 * What a change of an agent does to its runs and inbox items. Declared here, filled above (`recovery/`). Runs inside the
 * caller's transaction, after the agent's own row (locked by the caller) was written.
 */
export abstract class AgentReactions {
  /** Contract 8, unpause: the pause item is dismissed as `system`, the affected runs' own items open again. */
  abstract unpaused(tx: Tx, agent: { readonly id: string; readonly closedPauseId: string | null }): Promise<void>;

  /** Its role or its permissions are others, and come to this. `by`: the person who changed them; null: another agent did. */
  abstract entitled(
    tx: Tx,
    agent: { readonly id: string; readonly holds: readonly Capability[]; readonly by: string | null },
  ): Promise<void>;

  /** Waiting runs are cancelled, live ones stopped, items dismissed, tasks unassigned (contract 1). */
  abstract archived(tx: Tx, agent: { readonly id: string }): Promise<void>;

  /** Lifecycle `stopped`: live runs go on, waiting ones wait as `agent_stopped`. Started again: they may be claimed. */
  abstract startedAgain(tx: Tx, agent: { readonly id: string }): Promise<void>;
}
