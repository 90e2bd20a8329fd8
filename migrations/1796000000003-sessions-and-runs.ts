import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Conversations, wake-ups, and every attempt at them. What must never be is a constraint here, not a check in code. */
export class SessionsAndRuns1796000000003 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table task_sessions (
        id uuid not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        task_id uuid,
        state text not null default 'CREATED',
        adapter text not null,
        acp_session_id text,
        acp_session_history jsonb not null default '[]',
        error_message text,
        turns integer not null default 0,
        prompted_at timestamptz,
        is_passthrough boolean not null default false,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        ended_at timestamptz,
        constraint task_sessions_pkey primary key (id),
        constraint task_sessions_once_per_workspace unique (workspace_id, id),
        constraint task_sessions_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint task_sessions_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_sessions_state_known check (
          state in ('CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'FAILED', 'COMPLETED', 'CANCELLED'))
      )`);
    await db.query(`
      create unique index task_sessions_one_open_per_pair on task_sessions (task_id, agent_id)
        where task_id is not null and state not in ('COMPLETED', 'CANCELLED')`);
    await db.query(`create index task_sessions_by_task on task_sessions (task_id, id)`);
    await db.query(`create index task_sessions_by_agent on task_sessions (agent_id, id)`);

    await db.query(`
      create table task_folders (
        task_id uuid not null,
        workspace_id uuid not null,
        host_id uuid not null,
        path text not null,
        branch text,
        created_at timestamptz not null default now(),
        constraint task_folders_pkey primary key (task_id),
        constraint task_folders_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_folders_host_exists foreign key (host_id) references hosts (id)
      )`);
    await db.query(`
      create table executors_running (
        session_id uuid not null,
        workspace_id uuid not null,
        task_id uuid,
        host_id uuid not null,
        path text not null,
        branch text,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        constraint executors_running_pkey primary key (session_id),
        constraint executors_running_session_exists foreign key (workspace_id, session_id) references task_sessions (workspace_id, id),
        constraint executors_running_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint executors_running_host_exists foreign key (host_id) references hosts (id)
      )`);

    await db.query(`
      create table runs (
        id uuid not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        task_id uuid,
        scope text,
        session_id uuid,
        status text not null default 'queued',
        reason text not null,
        note text,
        wake_class smallint not null,
        requested_at timestamptz not null default now(),
        due_at timestamptz not null default now(),
        generation integer not null default 0,
        retry_count integer not null default 0,
        claimed_at timestamptz,
        launched_at timestamptz,
        started_at timestamptz,
        finished_at timestamptz,
        lease_host_id uuid,
        lease_boot_id uuid,
        lease_expires_at timestamptz,
        stop_requested_at timestamptz,
        stop_requested_reason text,
        cancel_reason text,
        merged_into uuid,
        stop_reason text,
        failure_kind text,
        error_message text,
        error_summary text,
        error_code text,
        error_class text,
        entitlement text not null,
        capabilities jsonb,
        input_snapshot jsonb,
        usage jsonb,
        causation_id uuid,
        parent_run_id uuid,
        depth integer not null default 0,
        constraint runs_pkey primary key (id),
        constraint runs_once_per_workspace unique (workspace_id, id),
        constraint runs_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint runs_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint runs_session_exists foreign key (workspace_id, session_id) references task_sessions (workspace_id, id),
        constraint runs_survivor_exists foreign key (workspace_id, merged_into) references runs (workspace_id, id),
        constraint runs_status_known check (
          status in ('queued', 'scheduled_retry', 'running', 'completed', 'failed', 'timed_out', 'cancelled')),
        constraint runs_task_or_scope check ((task_id is null) <> (scope is null)),
        constraint runs_class_known check (wake_class between 0 and 3),
        constraint runs_entitlement_known check (entitlement in ('assignee', 'seat', 'none')),
        constraint runs_depth_range check (depth between 0 and 8),
        constraint runs_failure_kind_known check (failure_kind in ('error', 'interrupted')),
        constraint runs_running_is_leased check (
          (status = 'running') = (lease_host_id is not null and lease_boot_id is not null and lease_expires_at is not null)),
        constraint runs_terminal_is_dated check ((status in ('completed', 'failed', 'timed_out', 'cancelled')) = (finished_at is not null)),
        constraint runs_failure_is_told check (status not in ('failed', 'timed_out') or (error_message is not null and failure_kind is not null)),
        constraint runs_cancel_is_told check (status <> 'cancelled' or cancel_reason is not null)
      ) with (fillfactor = 75)`);
    await db.query(`
      create unique index runs_one_waiting_per_pair on runs (task_id, agent_id)
        where task_id is not null and status in ('queued', 'scheduled_retry')`);
    // Stricter than one per (task, agent): a task has one folder, and two agents in it would trample each other (contract 4).
    await db.query(`
      create unique index runs_one_running_per_task on runs (task_id) where task_id is not null and status = 'running'`);
    await db.query(`
      create unique index runs_one_waiting_per_scope on runs (agent_id, scope)
        where scope is not null and status in ('queued', 'scheduled_retry')`);
    await db.query(`
      create unique index runs_one_running_per_scope on runs (agent_id, scope) where scope is not null and status = 'running'`);
    await db.query(`
      create index runs_claim_order on runs (agent_id, wake_class, requested_at, id) where status in ('queued', 'scheduled_retry')`);
    await db.query(`
      create index runs_waiting_by_workspace on runs (workspace_id, agent_id) where status in ('queued', 'scheduled_retry')`);
    await db.query(`create index runs_running_by_agent on runs (agent_id) where status = 'running'`);
    await db.query(`create index runs_running_by_host on runs (lease_host_id, lease_expires_at) where status = 'running'`);
    await db.query(
      `create index runs_failed_by_agent on runs (agent_id, id) where status in ('failed', 'timed_out') and failure_kind = 'error'`,
    );
    await db.query(`create index runs_by_agent on runs (agent_id, id)`);
    await db.query(`create index runs_by_task on runs (task_id, id) where task_id is not null`);

    await db.query(`
      create table run_attempts (
        run_id uuid not null,
        generation integer not null,
        workspace_id uuid not null,
        host_id uuid not null,
        boot_id uuid not null,
        execution_id uuid,
        claimed_at timestamptz not null default now(),
        launched_at timestamptz,
        started_at timestamptz,
        finished_at timestamptz,
        outcome text,
        error_payload text,
        error_code text,
        error_class text,
        rule text,
        evidence jsonb,
        usage jsonb,
        late_result jsonb,
        constraint run_attempts_pkey primary key (run_id, generation),
        constraint run_attempts_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id),
        constraint run_attempts_outcome_known check (
          outcome in ('turn_ended', 'stopped', 'error', 'timed_out', 'interrupted', 'requeued', 'stale'))
      )`);

    await db.query(`
      create table wake_requests (
        id uuid not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        task_id uuid,
        scope text,
        reason text not null,
        wake_class smallint not null,
        actor_kind text not null,
        actor_id uuid,
        note text,
        idempotency_key text,
        causation_id uuid,
        depth integer not null default 0,
        outcome text not null,
        refused_reason text,
        run_id uuid,
        stale boolean not null default false,
        requested_at timestamptz not null default now(),
        constraint wake_requests_pkey primary key (id),
        constraint wake_requests_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint wake_requests_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint wake_requests_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id),
        constraint wake_requests_actor_known check (actor_kind in ('user', 'agent', 'system')),
        constraint wake_requests_outcome_known check (outcome in ('pending', 'queued', 'coalesced', 'deduplicated', 'refused')),
        constraint wake_requests_refusal_is_told check ((outcome = 'refused') = (refused_reason is not null)),
        constraint wake_requests_placed_has_run check (outcome not in ('queued', 'coalesced', 'deduplicated') or run_id is not null)
      )`);
    await db.query(`create index wake_requests_by_run on wake_requests (run_id, id) where run_id is not null`);
    await db.query(`create index wake_requests_pending on wake_requests (id) where outcome = 'pending'`);
    await db.query(`create index wake_requests_refused_by_pair on wake_requests (task_id, agent_id, id) where outcome = 'refused'`);
    await db.query(`
      create table wake_keys (
        workspace_id uuid not null,
        agent_id uuid not null,
        key text not null,
        run_id uuid,
        remembered_until timestamptz not null,
        constraint wake_keys_pkey primary key (workspace_id, agent_id, key),
        constraint wake_keys_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id)
      )`);
    await db.query(`create index wake_keys_by_age on wake_keys (remembered_until)`);

    await db.query(`
      create table office_run_events (
        run_id uuid not null,
        seq integer not null,
        workspace_id uuid not null,
        event_type text not null,
        level text not null default 'info',
        payload jsonb not null,
        created_at timestamptz not null default now(),
        constraint office_run_events_pkey primary key (run_id, seq),
        constraint office_run_events_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id),
        constraint office_run_events_level_known check (level in ('info', 'warn', 'error'))
      )`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(
      `drop table office_run_events, wake_keys, wake_requests, run_attempts, runs, executors_running, task_folders, task_sessions`,
    );
  }
}
