import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What agents were told, said and did. */
export class Transcript1796000000110 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // One row per session, held by whoever writes to it: it numbers entries and revisions, and knows whose the last batch was, so
    // that a batch said twice (its answer was lost) lands in the same place.
    await db.query(`
      create table session_transcripts (
        session_id uuid not null,
        workspace_id uuid not null,
        run_id uuid,
        generation integer,
        batch integer not null default 0,
        first_seq integer not null default 1,
        last_seq integer not null default 0,
        last_rev bigint not null default 0,
        removed_at timestamptz,
        constraint session_transcripts_pkey primary key (session_id),
        constraint session_transcripts_session_exists foreign key (workspace_id, session_id) references task_sessions (workspace_id, id)
      ) with (fillfactor = 50)`);
    await db.query(`create index session_transcripts_removed on session_transcripts (removed_at) where removed_at is not null`);
    await db.query(`
      create table session_entries (
        session_id uuid not null,
        seq integer not null,
        workspace_id uuid not null,
        run_id uuid not null,
        generation integer not null,
        turn integer not null,
        kind text not null,
        acp_id text,
        title text,
        status text,
        body text not null,
        bytes bigint not null,
        truncated boolean not null,
        rev bigint not null,
        created_at timestamptz not null default clock_timestamp(),
        updated_at timestamptz not null default clock_timestamp(),
        constraint session_entries_pkey primary key (session_id, seq),
        constraint session_entries_session_exists foreign key (workspace_id, session_id) references task_sessions (workspace_id, id),
        constraint session_entries_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id),
        constraint session_entries_kind_known check (
          kind in ('prompt', 'message', 'thought', 'tool', 'plan', 'permission', 'notice'))
      ) with (fillfactor = 85)`);
    await db.query(`create unique index session_entries_by_rev on session_entries (session_id, rev)`);
    await db.query(`create index session_entries_by_run on session_entries (run_id, seq)`);

    // Of each attempt, for the timeline: reading it must not cost what its entries cost.
    await db.query(`
      alter table run_attempts add column first_seq integer, add column last_seq integer, add column tools integer not null default 0`);

    // Which ended runs have still to give up the bodies of their tools and thoughts.
    await db.query(`alter table runs add column bodies_kept boolean not null default true`);
    await db.query(`create index runs_with_bodies on runs (workspace_id, finished_at, id) where finished_at is not null and bodies_kept`);
    await db.query(`create index runs_by_survivor on runs (merged_into) where merged_into is not null`);
    await db.query(`create index provider_holds_by_run on provider_holds (run_id)`);
    await db.query(`create index provider_holds_by_any_first_run on provider_holds (first_run_id) where first_run_id is not null`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop index provider_holds_by_any_first_run, provider_holds_by_run, runs_by_survivor, runs_with_bodies`);
    await db.query(`alter table runs drop column bodies_kept`);
    await db.query(`alter table run_attempts drop column tools, drop column last_seq, drop column first_seq`);
    await db.query(`drop table session_entries, session_transcripts`);
  }
}
