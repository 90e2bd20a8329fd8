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

/** Tasks of a workspace's Office workflow, most at work; the others for hours at Approval, where `holderId` sits and has to decide. */
export async function manyTasks(db: Db, at: { workspaceId: string; tasks: number; atGate: number; holderId: string }): Promise<void> {
  await db.query(
    `insert into workflow_step_participants (id, workspace_id, step_id, agent_id, role, decision_required)
     select gen_random_uuid(), $1, id, $2, 'approver', true from workflow_steps where workspace_id = $1 and kind = 'approval'`,
    [at.workspaceId, at.holderId],
  );
  await db.query(
    `insert into tasks (id, workspace_id, number, identifier, title, state, workflow_id, step_id, step_entered_at, created_by_kind)
     select gen_random_uuid(), $1, 1000000 + n, 'M-' || n, 'Mend the door', case when n <= $3 then 'REVIEW' else 'IN_PROGRESS' end, step.workflow_id, step.id,
            now() - interval '2 hours' - n * interval '1 second', 'user'
       from generate_series(1, $2::int) n
       join workflow_steps step on step.workspace_id = $1 and step.kind = case when n <= $3 then 'approval' else 'work' end`,
    [at.workspaceId, at.tasks, at.atGate],
  );
}

/** Running turns with the evidence of an owner that was heard of just now, each on a task and in a session of its own. */
export async function manyLiveTurns(
  db: Db,
  at: { workspaceId: string; agentId: string; hostId: string; bootId: string },
  about: { turns: number; quiet: number; signalled: number },
): Promise<void> {
  await db.query(
    `with step as (select id, workflow_id from workflow_steps where workspace_id = $1 and kind = 'work' limit 1),
     made as (
       insert into tasks (id, workspace_id, number, identifier, title, state, workflow_id, step_id, step_entered_at, assignee_agent_instance_id, created_by_kind)
       select gen_random_uuid(), $1, 3000000 + n, 'L-' || n, 'Mend the door', 'IN_PROGRESS', step.workflow_id, step.id, now() - interval '3 hours', $2, 'user'
         from generate_series(1, $5::int) n cross join step returning id, number
     ), sessions as (
       insert into task_sessions (id, workspace_id, agent_id, task_id, state, adapter, signal_step_id, signaled_at, signal)
       select gen_random_uuid(), $1, $2, made.id, 'RUNNING', 'mock', case when made.number <= 3000000 + $7 then step.id end,
              case when made.number <= 3000000 + $7 then now() - interval '1 hour' end,
              case when made.number <= 3000000 + $7 then '{"summary": "done", "handoff": null, "blockers": null}'::jsonb end
         from made cross join step returning id, task_id
     )
     insert into runs (id, workspace_id, agent_id, task_id, session_id, status, reason, wake_class, entitlement, generation, lease_host_id, lease_boot_id,
                       lease_expires_at, claimed_at, launched_at, started_at, evidence_at, last_content_at, process_alive, awaits_permission)
     select gen_random_uuid(), $1, $2, made.id, sessions.id, 'running', 'task_assigned', 1, 'assignee', 1, $3, $4, now() + interval '1 hour',
            now() - interval '2 hours', now() - interval '2 hours', now() - interval '2 hours', now() + interval '1 hour',
            case when made.number <= 3000000 + $6 then now() - interval '1 hour' else now() + interval '1 hour' end, true, false
       from made join sessions on sessions.task_id = made.id`,
    [at.workspaceId, at.agentId, at.hostId, at.bootId, about.turns, about.quiet, about.signalled],
  );
}
