/**
 * What stands in the inbox, as one text for list, count, per-agent number and dismissal, so that they can never disagree.
 * A failed run (contract 1) with an `agent_run_failed` item nobody has dismissed; alias `r` for runs.
 */
export const OPEN_FAILURE = `r.status in ('failed', 'timed_out') and r.failure_kind = 'error'
  and not exists (select from inbox_dismissals d where d.item_kind = 'agent_run_failed' and d.item_id = r.id)`;
