import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who may come in, the tenants they come into, and the machines that work for them. */
export class PeopleAndWorkspaces1796000000001 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table users (
        id uuid not null,
        name text not null,
        is_instance_admin boolean not null default false,
        is_reserved boolean not null default false,
        created_at timestamptz not null default now(),
        constraint users_pkey primary key (id),
        constraint users_name_filled check (length(name) between 1 and 200)
      )`);
    // The office itself, for dismissals nobody pressed: it can never hold a token (access_tokens_not_for_the_office).
    await db.query(`insert into users (id, name, is_reserved) values ('00000000-0000-7000-8000-000000000001', 'system', true)`);

    await db.query(`
      create table access_tokens (
        id uuid not null,
        user_id uuid not null,
        label text not null,
        hash bytea not null,
        scopes text[] not null,
        is_bootstrap boolean not null default false,
        created_at timestamptz not null default now(),
        expires_at timestamptz,
        revoked_at timestamptz,
        constraint access_tokens_pkey primary key (id),
        constraint access_tokens_user_exists foreign key (user_id) references users (id),
        constraint access_tokens_hash_is_sha256 check (length(hash) = 32),
        constraint access_tokens_scopes_known check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin']),
        constraint access_tokens_not_for_the_office check (user_id <> '00000000-0000-7000-8000-000000000001')
      )`);
    await db.query(`create unique index access_tokens_hash_once on access_tokens (hash)`);
    await db.query(`create index access_tokens_by_user on access_tokens (user_id)`);

    await db.query(`
      create table workspaces (
        id uuid not null,
        name text not null,
        task_prefix text not null,
        last_task_number integer not null default 0,
        stopped_at timestamptz,
        archived_at timestamptz,
        created_at timestamptz not null default now(),
        constraint workspaces_pkey primary key (id),
        constraint workspaces_name_filled check (length(name) between 1 and 200),
        constraint workspaces_task_prefix_shape check (task_prefix ~ '^[A-Z][A-Z0-9]{0,9}$')
      )`);

    await db.query(`
      create table workspace_settings (
        workspace_id uuid not null,
        agent_failure_threshold integer not null default 3,
        require_approval_for_new_agents boolean not null default true,
        resume_interrupted text not null default 'ask',
        wait_for_reset text not null default 'off',
        constraint workspace_settings_pkey primary key (workspace_id),
        constraint workspace_settings_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint workspace_settings_threshold_range check (agent_failure_threshold between 1 and 100),
        constraint workspace_settings_resume_known check (resume_interrupted in ('ask', 'auto')),
        constraint workspace_settings_wait_known check (wait_for_reset in ('off', 'on'))
      )`);

    await db.query(`
      create table workspace_members (
        workspace_id uuid not null,
        user_id uuid not null,
        role text not null,
        created_at timestamptz not null default now(),
        constraint workspace_members_pkey primary key (workspace_id, user_id),
        constraint workspace_members_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint workspace_members_user_exists foreign key (user_id) references users (id),
        constraint workspace_members_role_known check (role in ('member', 'admin'))
      )`);
    await db.query(`create index workspace_members_by_user on workspace_members (user_id)`);

    await db.query(`
      create table workspace_secrets (
        workspace_id uuid not null,
        name text not null,
        nonce bytea not null,
        ciphertext bytea not null,
        tag bytea not null,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        constraint workspace_secrets_pkey primary key (workspace_id, name),
        constraint workspace_secrets_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint workspace_secrets_name_shape check (name ~ '^[A-Za-z_][A-Za-z0-9_]{0,99}$')
      )`);

    // The effect and the answer to it are committed together, so a repeated request can neither act twice nor lie.
    await db.query(`
      create table idempotency_keys (
        principal text not null,
        method text not null,
        route text not null,
        key text not null,
        request_hash bytea not null,
        answer jsonb not null,
        created_at timestamptz not null default now(),
        constraint idempotency_keys_pkey primary key (principal, method, route, key),
        constraint idempotency_keys_key_length check (length(key) between 1 and 200)
      )`);
    await db.query(`create index idempotency_keys_by_age on idempotency_keys (created_at)`);

    await db.query(`
      create table hosts (
        id uuid not null,
        boot_id uuid not null,
        name text not null,
        adapters text[] not null default '{}',
        max_executions integer not null,
        draining boolean not null default false,
        started_at timestamptz not null default now(),
        last_seen_at timestamptz not null default now(),
        constraint hosts_pkey primary key (id),
        constraint hosts_max_executions_positive check (max_executions > 0)
      )`);

    await db.query(`
      create table office_event_counters (
        workspace_id uuid not null,
        last_seq bigint not null default 0,
        constraint office_event_counters_pkey primary key (workspace_id),
        constraint office_event_counters_workspace_exists foreign key (workspace_id) references workspaces (id)
      )`);
    await db.query(`
      create table office_events (
        workspace_id uuid not null,
        seq bigint not null,
        action text not null,
        payload jsonb not null,
        created_at timestamptz not null default now(),
        constraint office_events_pkey primary key (workspace_id, seq)
      )`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(
      `drop table office_events, office_event_counters, hosts, idempotency_keys, workspace_secrets,
                  workspace_members, workspace_settings, workspaces, access_tokens, users`,
    );
  }
}
