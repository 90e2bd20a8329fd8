import type { Tx } from '../platform/database/tx.js';

/** What a new workspace is given by rooms above (its Office default workflow). Declared here, filled by `workflow/`. */
export abstract class WorkspaceFurnishing {
  /** Runs in the transaction that makes the workspace; its row, settings and event counter are there already. */
  abstract furnish(tx: Tx, workspaceId: string): Promise<void>;
}
