/** Rows by the hundred thousand, straight into the tables: for plans and clocks, not for behaviour. */
interface Db {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

/** Failed runs of an agent that somebody dismissed long ago. */
export async function manyDismissedFailures(
  db: Db,
  at: { workspaceId: string; agentId: string; taskId: string },
  count: number,
): Promise<void> {
  await db.query(
    `with made as (
       insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, requested_at, finished_at, failure_kind,
                         error_message, error_summary, failure_dismissed)
       select gen_random_uuid(), $1, $2, $3, 'failed', 'task_assigned', 1, 'assignee', now() - n * interval '1 minute', now() - n * interval '1 minute',
              'error', '{"message":"model gone"}', 'model gone', true
         from generate_series(1, $4::int) n returning id, finished_at
     )
     insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id, dismissed_at)
     select '00000000-0000-7000-8000-000000000001', 'agent_run_failed', id, $1, finished_at from made`,
    [at.workspaceId, at.agentId, at.taskId, count],
  );
}

/** Failed runs that stand in the inbox. */
export async function manyOpenFailures(db: Db, at: { workspaceId: string; agentId: string; taskId: string }, count: number): Promise<void> {
  await db.query(
    `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, finished_at, failure_kind, error_message, error_summary)
     select gen_random_uuid(), $1, $2, $3, 'failed', 'task_assigned', 1, 'assignee', now() - n * interval '1 second', 'error', '{}', 'model gone'
       from generate_series(1, $4::int) n`,
    [at.workspaceId, at.agentId, at.taskId, count],
  );
}

/** What a busy task went through: as many comments, turns, errors and changes of state, a quarter each. */
export async function aLongHistory(db: Db, at: { workspaceId: string; agentId: string; taskId: string }, entries: number): Promise<void> {
  const each = Math.ceil(entries / 4);
  const parameters = [at.workspaceId, at.taskId, at.agentId, each];
  await db.query(
    `insert into task_comments (id, workspace_id, task_id, author_kind, author_id, source, body, created_at)
     select gen_random_uuid(), $1, $2, 'agent', $3, 'agent', repeat('word ', 40), now() - n * interval '4 minutes' from generate_series(1, $4::int) n`,
    parameters,
  );
  await db.query(
    `insert into runs (id, workspace_id, task_id, agent_id, status, reason, wake_class, entitlement, started_at, finished_at, failure_kind, error_message, failure_dismissed)
     select gen_random_uuid(), $1, $2, $3, case n % 2 when 0 then 'completed' else 'failed' end, 'task_assigned', 1, 'assignee',
            now() - n * interval '3 minutes', now() - n * interval '3 minutes' + interval '1 minute',
            case n % 2 when 1 then 'error' end, case n % 2 when 1 then repeat('{"message":"model gone"}', 20) end, true
       from generate_series(1, $4::int * 4 / 3) n`,
    parameters,
  );
  await db.query(
    `insert into task_state_changes (id, workspace_id, task_id, from_state, to_state, actor_kind, actor_id, occurred_at)
     select gen_random_uuid(), $1, $2, 'REVIEW', 'IN_PROGRESS', 'agent', $3, now() - n * interval '5 minutes' from generate_series(1, $4::int) n`,
    parameters,
  );
}
