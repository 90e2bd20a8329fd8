import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the retry, the breaker and the provider holds remember. */
export class Diagnosis1796000000051 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`alter table runs add column retry_after timestamptz`);
    await db.query(`create index runs_due on runs (due_at) where status = 'scheduled_retry'`);
    await db.query(`
      create index runs_failed_lately on runs (agent_id, finished_at)
        where status in ('failed', 'timed_out') and failure_kind = 'error'`);
    await db.query(`create index wake_requests_human on wake_requests (agent_id, requested_at) where wake_class = 0`);

    // Since when a run could have been claimed: its age counts from the end of whatever kept it waiting.
    await db.query(`alter table workspaces add column if not exists unblocked_at timestamptz`);
    await db.query(`alter table hosts add column resumed_at timestamptz not null default now()`);

    await db.query(`
      create table provider_holds (
        id uuid not null,
        workspace_id uuid not null,
        adapter text not null,
        credential text not null,
        summary text not null,
        run_id uuid not null,
        agent_id uuid not null,
        reset_at timestamptz not null,
        held_until timestamptz not null,
        first_run_id uuid,
        opened_at timestamptz not null default now(),
        ended_at timestamptz,
        ended_by uuid,
        constraint provider_holds_pkey primary key (id),
        constraint provider_holds_once_per_workspace unique (workspace_id, id),
        constraint provider_holds_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id),
        constraint provider_holds_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint provider_holds_first_run_exists foreign key (workspace_id, first_run_id) references runs (workspace_id, id),
        constraint provider_holds_ender_exists foreign key (ended_by) references users (id),
        constraint provider_holds_ended_by_whole check (ended_by is null or ended_at is not null)
      )`);
    await db.query(`
      create unique index provider_holds_one_open on provider_holds (workspace_id, adapter, credential) where ended_at is null`);
    await db.query(`create index provider_holds_by_provider on provider_holds (workspace_id, adapter, credential, ended_at)`);
    await db.query(`create index provider_holds_by_first_run on provider_holds (first_run_id) where ended_at is null`);

    // Agents with the same credential share their provider's limits. A fingerprint of what looks like one in their configuration;
    // secrets go in by their names.
    await db.query(`
      create function office_credential(config jsonb) returns text language sql stable as $$
        select left(encode(sha256(convert_to(coalesce((
          select jsonb_object_agg(key, value order by key) from jsonb_each(case when jsonb_typeof(config -> 'env') = 'object' then config -> 'env' else '{}' end)
           where jsonb_typeof(value) = 'object' or key ~* '(key|token|secret|auth|credential|password|base_url|endpoint|home|profile|account|project)'
        )::text, '') || coalesce((config -> 'command')::text, ''), 'UTF8')), 'hex'), 16)
      $$`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop function office_credential`);
    await db.query(`drop table provider_holds`);
    await db.query(`alter table hosts drop column resumed_at`);
    await db.query(`drop index wake_requests_human, runs_failed_lately, runs_due`);
    await db.query(`alter table runs drop column retry_after`);
  }
}
