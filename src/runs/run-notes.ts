import type { Tx } from '../platform/database/tx.js';
import { storableJson } from '../platform/text/storable.js';

/**
 * A line in the run's own log that a person can read later, for what is not visible from its row. The row lock numbers the
 * lines of one run without gaps, whoever writes them.
 */
export async function noteRun(tx: Tx, runId: string, eventType: string, level: 'info' | 'warn' | 'error', payload: object): Promise<void> {
  await tx.query(`select id from runs where workspace_id = $1 and id = $2 for no key update`, [tx.workspaceId, runId]);
  appendRunEvent(tx, runId, eventType, level, payload);
}

/** The same, for whoever holds the run's row already. Written with the commit. */
export function appendRunEvent(tx: Tx, runId: string, eventType: string, level: 'info' | 'warn' | 'error', payload: object): void {
  tx.last(
    `insert into office_run_events (run_id, seq, workspace_id, event_type, level, payload)
     select $2, coalesce(max(seq), 0) + 1, $1, $3, $4, $5 from office_run_events where run_id = $2`,
    [tx.workspaceId, runId, eventType, level, storableJson(payload)],
  );
  tx.nudge('run_events');
}
