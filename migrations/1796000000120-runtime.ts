import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What agents may ask for: the role a run works under, approvals, memory, skills. */
export class Runtime1796000000120 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // Frozen with the capabilities: a few rules ask for the role itself.
    await db.query(`alter table runs add column role text`);
    await db.query(
      `alter table runs add constraint runs_role_known check (role in ('ceo', 'assistant', 'worker', 'specialist', 'reviewer'))`,
    );

    await db.query(`
      create table approvals (
        id uuid not null,
        workspace_id uuid not null,
        type text not null,
        status text not null default 'pending',
        agent_id uuid not null,
        run_id uuid not null,
        task_id uuid,
        target_type text,
        target_id uuid,
        reason text not null,
        payload jsonb not null default '{}',
        shown_hash bytea,
        requested_at timestamptz not null default clock_timestamp(),
        decided_at timestamptz,
        decided_by uuid,
        decision_note text,
        constraint approvals_pkey primary key (id),
        constraint approvals_once_per_workspace unique (workspace_id, id),
        constraint approvals_type_known check (type in ('hire_agent', 'generic')),
        constraint approvals_status_known check (status in ('pending', 'approved', 'rejected')),
        constraint approvals_target_known check (target_type in ('agent', 'task', 'skill', 'project')),
        constraint approvals_target_whole check ((target_type is null) = (target_id is null)),
        constraint approvals_hire_is_shown check (type <> 'hire_agent' or (target_type = 'agent' and shown_hash is not null)),
        constraint approvals_decision_whole check ((status = 'pending') = (decided_at is null) and (decided_at is null) = (decided_by is null)),
        constraint approvals_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint approvals_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint approvals_decider_exists foreign key (decided_by) references users (id)
      )`);
    await db.query(`create index approvals_open on approvals (workspace_id, requested_at, id) where status = 'pending'`);
    await db.query(`create index approvals_of_hires on approvals (workspace_id, target_id) where type = 'hire_agent'`);

    await db.query(`
      create table memory_entries (
        workspace_id uuid not null,
        namespace text not null,
        owner_id uuid not null,
        key text collate "C" not null,
        content text not null,
        updated_at timestamptz not null,
        agent_id uuid not null,
        run_id uuid not null,
        constraint memory_entries_pkey primary key (workspace_id, namespace, owner_id, key),
        constraint memory_entries_namespace_known check (namespace in ('agents', 'tasks', 'projects', 'skills')),
        constraint memory_entries_key_length check (length(key) between 1 and 500),
        constraint memory_entries_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id)
      )`);
    // A deleted task leaves an identifier and nothing that was said of it, whoever deletes it.
    await db.query(`
      create function tasks_forget_memory() returns trigger language plpgsql as $$
      begin
        delete from memory_entries where workspace_id = new.workspace_id and namespace = 'tasks' and owner_id = new.id;
        return null;
      end $$`);
    await db.query(`
      create trigger tasks_deleted after update of deleted_at on tasks
        for each row when (old.deleted_at is null and new.deleted_at is not null) execute function tasks_forget_memory()`);

    await db.query(`
      create table skills (
        id uuid not null,
        workspace_id uuid not null,
        slug text not null,
        name text not null,
        description text not null,
        content text not null,
        is_system boolean not null default false,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        constraint skills_pkey primary key (id),
        constraint skills_once_per_workspace unique (workspace_id, id),
        constraint skills_slug_once unique (workspace_id, slug),
        constraint skills_slug_shape check (slug ~ '^[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?$'),
        constraint skills_system_is_reserved check (is_system = starts_with(slug, 'office-')),
        constraint skills_workspace_exists foreign key (workspace_id) references workspaces (id)
      )`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop table skills`);
    await db.query(`drop trigger tasks_deleted on tasks`);
    await db.query(`drop function tasks_forget_memory`);
    await db.query(`drop table memory_entries`);
    await db.query(`delete from inbox_dismissals where item_kind = 'approval'`);
    await db.query(`drop table approvals`);
    await db.query(`alter table runs drop column role`);
  }
}
