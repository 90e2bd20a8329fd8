import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The staff, the workflow their work moves through, and the work itself. */
export class AgentsAndTasks1796000000002 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table agent_instances (
        id uuid not null,
        workspace_id uuid not null,
        name text not null,
        handle text not null,
        role text not null,
        adapter text not null,
        adapter_config jsonb not null default '{}',
        permissions jsonb not null default '{}',
        instructions text,
        reports_to uuid,
        failure_threshold integer,
        max_concurrent_sessions integer not null default 1,
        cooldown_sec integer not null default 0,
        lifecycle text not null default 'active',
        pause_reason text,
        pause_source text,
        paused_at timestamptz,
        current_pause_id uuid,
        unblocked_at timestamptz,
        consecutive_failures integer not null default 0,
        last_run_finished_at timestamptz,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        constraint agent_instances_pkey primary key (id),
        constraint agent_instances_once_per_workspace unique (workspace_id, id),
        constraint agent_instances_handle_once unique (workspace_id, handle),
        constraint agent_instances_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint agent_instances_boss_exists foreign key (workspace_id, reports_to) references agent_instances (workspace_id, id),
        constraint agent_instances_name_filled check (length(name) between 1 and 200),
        constraint agent_instances_handle_shape check (handle ~ '^[a-z0-9][a-z0-9_-]{0,59}$'),
        constraint agent_instances_role_known check (role in ('ceo', 'assistant', 'worker', 'specialist', 'reviewer')),
        constraint agent_instances_lifecycle_known check (lifecycle in ('active', 'stopped', 'pending_approval', 'archived')),
        constraint agent_instances_pause_source_known check (pause_source in ('auto', 'person')),
        constraint agent_instances_pause_whole check ((pause_reason is null) = (pause_source is null)),
        constraint agent_instances_pause_has_episode check (pause_source is distinct from 'auto' or current_pause_id is not null),
        constraint agent_instances_threshold_range check (failure_threshold between 1 and 100),
        constraint agent_instances_sessions_range check (max_concurrent_sessions between 1 and 100),
        constraint agent_instances_cooldown_range check (cooldown_sec between 0 and 86400),
        constraint agent_instances_failures_counted check (consecutive_failures >= 0)
      )`);

    await db.query(`
      create table agent_pauses (
        id uuid not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        reason text not null,
        failures integer not null,
        affected jsonb not null,
        opened_at timestamptz not null default now(),
        closed_at timestamptz,
        closed_by text,
        constraint agent_pauses_pkey primary key (id),
        constraint agent_pauses_once_per_workspace unique (workspace_id, id),
        constraint agent_pauses_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint agent_pauses_closed_by_known check (closed_by in ('mark_fixed', 'unpaused', 'replaced', 'archived')),
        constraint agent_pauses_closed_whole check ((closed_at is null) = (closed_by is null))
      )`);
    await db.query(`create unique index agent_pauses_one_open on agent_pauses (agent_id) where closed_at is null`);
    await db.query(`create index agent_pauses_open_by_workspace on agent_pauses (workspace_id, opened_at) where closed_at is null`);
    await db.query(`
      alter table agent_instances add constraint agent_instances_pause_exists
        foreign key (workspace_id, current_pause_id) references agent_pauses (workspace_id, id)`);

    await db.query(`
      create table workflows (
        id uuid not null,
        workspace_id uuid not null,
        name text not null,
        style text not null,
        is_office_default boolean not null default false,
        created_at timestamptz not null default now(),
        constraint workflows_pkey primary key (id),
        constraint workflows_once_per_workspace unique (workspace_id, id),
        constraint workflows_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint workflows_style_known check (style in ('office', 'kanban'))
      )`);
    await db.query(`create unique index workflows_one_default on workflows (workspace_id) where is_office_default`);
    await db.query(`
      create table workflow_steps (
        id uuid not null,
        workspace_id uuid not null,
        workflow_id uuid not null,
        position integer not null,
        name text not null,
        kind text not null,
        requires_signal boolean not null default false,
        on_agent_error jsonb,
        constraint workflow_steps_pkey primary key (id),
        constraint workflow_steps_once_per_workspace unique (workspace_id, id),
        constraint workflow_steps_in_order unique (workflow_id, position),
        constraint workflow_steps_workflow_exists foreign key (workspace_id, workflow_id) references workflows (workspace_id, id),
        constraint workflow_steps_kind_known check (kind in ('work', 'review', 'approval', 'done'))
      )`);

    await db.query(`
      create table tasks (
        id uuid not null,
        workspace_id uuid not null,
        number integer not null,
        identifier text not null,
        title text not null,
        description text,
        state text not null default 'TODO',
        priority integer not null default 0,
        workflow_id uuid not null,
        step_id uuid not null,
        step_entered_at timestamptz not null default now(),
        assignee_agent_instance_id uuid,
        parent_id uuid,
        review_after_failure boolean not null default false,
        created_by_kind text not null,
        created_by_id uuid,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        description_changed_at timestamptz not null default now(),
        archived_at timestamptz,
        deleted_at timestamptz,
        constraint tasks_pkey primary key (id),
        constraint tasks_once_per_workspace unique (workspace_id, id),
        constraint tasks_number_once unique (workspace_id, number),
        constraint tasks_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint tasks_assignee_exists foreign key (workspace_id, assignee_agent_instance_id) references agent_instances (workspace_id, id),
        constraint tasks_parent_exists foreign key (workspace_id, parent_id) references tasks (workspace_id, id),
        constraint tasks_workflow_exists foreign key (workspace_id, workflow_id) references workflows (workspace_id, id),
        constraint tasks_step_exists foreign key (workspace_id, step_id) references workflow_steps (workspace_id, id),
        constraint tasks_state_known check (state in ('TODO', 'IN_PROGRESS', 'REVIEW', 'BLOCKED', 'DONE', 'CANCELLED')),
        constraint tasks_priority_range check (priority between 0 and 4),
        constraint tasks_created_by_known check (created_by_kind in ('user', 'agent', 'system')),
        constraint tasks_tombstone_is_empty check (deleted_at is null or (title = '' and description is null))
      )`);
    await db.query(`create index tasks_by_assignee on tasks (assignee_agent_instance_id, id)`);
    await db.query(`create index tasks_by_parent on tasks (parent_id) where parent_id is not null`);
    await db.query(`create index tasks_by_step on tasks (step_id)`);

    await db.query(`
      create table task_step_transitions (
        id uuid not null,
        workspace_id uuid not null,
        task_id uuid not null,
        from_step_id uuid,
        to_step_id uuid not null,
        actor_kind text not null,
        actor_id uuid,
        occurred_at timestamptz not null default now(),
        constraint task_step_transitions_pkey primary key (id),
        constraint task_step_transitions_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_step_transitions_from_exists foreign key (workspace_id, from_step_id) references workflow_steps (workspace_id, id),
        constraint task_step_transitions_to_exists foreign key (workspace_id, to_step_id) references workflow_steps (workspace_id, id),
        constraint task_step_transitions_actor_known check (actor_kind in ('user', 'agent', 'system'))
      )`);
    await db.query(`create index task_step_transitions_by_task on task_step_transitions (task_id, occurred_at)`);

    await db.query(`
      create table task_blockers (
        workspace_id uuid not null,
        task_id uuid not null,
        blocker_id uuid not null,
        created_at timestamptz not null default now(),
        constraint task_blockers_pkey primary key (task_id, blocker_id),
        constraint task_blockers_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_blockers_blocker_exists foreign key (workspace_id, blocker_id) references tasks (workspace_id, id),
        constraint task_blockers_not_itself check (task_id <> blocker_id)
      )`);
    await db.query(`create index task_blockers_by_blocker on task_blockers (blocker_id)`);

    await db.query(`
      create table task_comments (
        id uuid not null,
        workspace_id uuid not null,
        task_id uuid not null,
        author_kind text not null,
        author_id uuid,
        source text not null,
        run_id uuid,
        body text not null,
        created_at timestamptz not null default now(),
        constraint task_comments_pkey primary key (id),
        constraint task_comments_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_comments_author_known check (author_kind in ('user', 'agent', 'system')),
        constraint task_comments_source_known check (source in ('user', 'agent', 'session', 'system'))
      )`);
    await db.query(`create index task_comments_by_task on task_comments (task_id, id)`);
    await db.query(`create index task_comments_by_run on task_comments (run_id) where run_id is not null`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`alter table agent_instances drop constraint agent_instances_pause_exists`);
    await db.query(
      `drop table task_comments, task_blockers, task_step_transitions, tasks, workflow_steps, workflows, agent_pauses, agent_instances`,
    );
  }
}
