import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What people recover with: an inbox that is cheap to ask, a history of what a task went through, and who stopped a workspace. */
export class Recovery1796000000021 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // The inbox is a view over failed runs without a dismissal. Among a million dismissed ones only a partial index finds the
    // few that are open, and an index cannot look into another table: so the run knows whether it has a dismissal. The database
    // keeps that true by itself, whoever writes dismissals.
    await db.query(`alter table runs add column failure_dismissed boolean not null default false`);
    await db.query(`
      update runs set failure_dismissed = true
       where id in (select item_id from inbox_dismissals where item_kind = 'agent_run_failed')`);
    await db.query(`
      create function inbox_dismissals_tell_runs() returns trigger language plpgsql as $$
      begin
        update runs r set failure_dismissed = (tg_op = 'INSERT') from changed
         where changed.item_kind = 'agent_run_failed' and r.id = changed.item_id and r.workspace_id = changed.workspace_id
           and r.failure_dismissed <> (tg_op = 'INSERT');
        return null;
      end $$`);
    await db.query(`
      create trigger inbox_dismissals_added after insert on inbox_dismissals
        referencing new table as changed for each statement execute function inbox_dismissals_tell_runs()`);
    await db.query(`
      create trigger inbox_dismissals_withdrawn after delete on inbox_dismissals
        referencing old table as changed for each statement execute function inbox_dismissals_tell_runs()`);
    await db.query(`
      create index runs_open_failures on runs (workspace_id, agent_id, id)
        where status in ('failed', 'timed_out') and failure_kind = 'error' and not failure_dismissed`);
    await db.query(`create index inbox_dismissals_by_time on inbox_dismissals (workspace_id, dismissed_at, item_id)`);

    // The timeline reads each of its sources in the order of time, from a place on.
    await db.query(`
      create index runs_turns_of_task on runs (task_id, started_at, id) where task_id is not null and started_at is not null`);
    await db.query(`
      create index runs_errors_of_task on runs (task_id, finished_at, id)
        where task_id is not null and status in ('failed', 'timed_out')`);
    await db.query(`create index task_comments_in_time on task_comments (task_id, created_at, id)`);

    // Whoever moves a task (a person, a claim, a failure, the workflow) leaves a line. Who it was is told by the transaction,
    // as office.actor = '<kind>:<id>'; without it, it was the office itself.
    await db.query(`
      create table task_state_changes (
        id uuid not null,
        workspace_id uuid not null,
        task_id uuid not null,
        from_state text not null,
        to_state text not null,
        actor_kind text not null,
        actor_id uuid,
        occurred_at timestamptz not null default clock_timestamp(),
        constraint task_state_changes_pkey primary key (id),
        constraint task_state_changes_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_state_changes_actor_known check (actor_kind in ('user', 'agent', 'system'))
      )`);
    await db.query(`create index task_state_changes_by_task on task_state_changes (task_id, occurred_at, id)`);
    await db.query(`
      create function tasks_record_state() returns trigger language plpgsql as $$
      declare
        actor text := coalesce(nullif(current_setting('office.actor', true), ''), 'system:');
      begin
        insert into task_state_changes (id, workspace_id, task_id, from_state, to_state, actor_kind, actor_id)
        values (gen_random_uuid(), new.workspace_id, new.id, old.state, new.state, split_part(actor, ':', 1), nullif(split_part(actor, ':', 2), '')::uuid);
        return null;
      end $$`);
    await db.query(`
      create trigger tasks_state_changed after update of state on tasks
        for each row when (old.state is distinct from new.state) execute function tasks_record_state()`);

    // The views people triage by.
    await db.query(`
      create index runs_ended on runs (workspace_id, finished_at, status, failure_kind) where finished_at is not null`);
    await db.query(`
      create index task_sessions_maybe_live on task_sessions (agent_id) where state in ('STARTING', 'RUNNING', 'WAITING_FOR_INPUT')`);

    await db.query(`alter table workspaces add column stopped_by uuid`);
    await db.query(`alter table workspaces add column unblocked_at timestamptz`);
    await db.query(`alter table workspaces add constraint workspaces_stopper_exists foreign key (stopped_by) references users (id)`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`alter table workspaces drop column unblocked_at, drop column stopped_by`);
    await db.query(`drop index task_sessions_maybe_live, runs_ended`);
    await db.query(`drop trigger tasks_state_changed on tasks`);
    await db.query(`drop function tasks_record_state`);
    await db.query(`drop table task_state_changes`);
    await db.query(
      `drop index task_comments_in_time, runs_errors_of_task, runs_turns_of_task, inbox_dismissals_by_time, runs_open_failures`,
    );
    await db.query(`drop trigger inbox_dismissals_withdrawn on inbox_dismissals`);
    await db.query(`drop trigger inbox_dismissals_added on inbox_dismissals`);
    await db.query(`drop function inbox_dismissals_tell_runs`);
    await db.query(`alter table runs drop column failure_dismissed`);
  }
}
