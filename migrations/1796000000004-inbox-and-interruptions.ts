import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a person has answered, and what a restart took away. */
export class InboxAndInterruptions1796000000004 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // Shared inbox: the first dismissal of an item is everybody's (contract 8), so the item alone is unique too.
    await db.query(`
      create table inbox_dismissals (
        user_id uuid not null,
        item_kind text not null,
        item_id uuid not null,
        workspace_id uuid not null,
        pause_id uuid,
        dismissed_at timestamptz not null default now(),
        constraint inbox_dismissals_pkey primary key (user_id, item_kind, item_id),
        constraint inbox_dismissals_one_per_item unique (item_kind, item_id),
        constraint inbox_dismissals_user_exists foreign key (user_id) references users (id),
        constraint inbox_dismissals_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint inbox_dismissals_pause_exists foreign key (workspace_id, pause_id) references agent_pauses (workspace_id, id)
      )`);
    await db.query(`create index inbox_dismissals_by_pause on inbox_dismissals (pause_id) where pause_id is not null`);

    await db.query(`
      create table interruptions (
        id uuid not null,
        workspace_id uuid not null,
        host_id uuid not null,
        boot_id uuid not null,
        cause text not null,
        opened_at timestamptz not null default now(),
        resolved_at timestamptz,
        constraint interruptions_pkey primary key (id),
        constraint interruptions_once_per_workspace unique (workspace_id, id),
        constraint interruptions_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint interruptions_host_exists foreign key (host_id) references hosts (id),
        constraint interruptions_cause_known check (cause in ('host_restart', 'drain_deadline', 'lost_lease'))
      )`);
    await db.query(`
      create unique index interruptions_one_open_per_boot on interruptions (workspace_id, host_id, boot_id) where resolved_at is null`);
    await db.query(`
      create table interruption_runs (
        interruption_id uuid not null,
        run_id uuid not null,
        workspace_id uuid not null,
        constraint interruption_runs_pkey primary key (interruption_id, run_id),
        constraint interruption_runs_interruption_exists foreign key (workspace_id, interruption_id)
          references interruptions (workspace_id, id),
        constraint interruption_runs_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id)
      )`);
    await db.query(`create index interruption_runs_by_run on interruption_runs (run_id)`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop table interruption_runs, interruptions, inbox_dismissals`);
  }
}
