/**
 * What stands in the inbox, as one text for list, count, per-agent number and dismissal, so that they can never disagree.
 * A failed run (contract 1) with an `agent_run_failed` item nobody has dismissed; alias `r` for runs. Word for word the
 * predicate of the index `runs_open_failures`: name `workspace_id` beside it and a million dismissed failures cost nothing.
 */
export const OPEN_FAILURE = `r.status in ('failed', 'timed_out') and r.failure_kind = 'error' and not r.failure_dismissed`;

/**
 * An interrupted run that still waits for somebody: nobody has resumed it, and there is something to resume. Alias `r`.
 * Its session is where the interruption left it, no later run of the pair was claimed, its task is open, its agent entitled.
 */
export const STILL_INTERRUPTED = `
  exists (select from task_sessions s where s.id = r.session_id and s.state = 'FAILED')
  and exists (select from agent_instances a where a.id = r.agent_id and a.lifecycle <> 'archived')
  and (r.task_id is null or exists (
    select from tasks t
     where t.id = r.task_id and t.state not in ('DONE', 'CANCELLED') and t.archived_at is null and t.deleted_at is null
       and (r.entitlement <> 'assignee' or t.assignee_agent_instance_id = r.agent_id)))
  and not exists (
    select from runs n where n.task_id = r.task_id and n.agent_id = r.agent_id and n.claimed_at > r.finished_at)`;
