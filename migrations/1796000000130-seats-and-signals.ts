import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who decides at a step and what they decided, what an agent signalled, and what the owner of a run last saw of it. */
export class SeatsAndSignals1796000000130 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table workflow_step_participants (
        id uuid not null,
        workspace_id uuid not null,
        step_id uuid not null,
        task_id uuid,
        agent_id uuid,
        user_id uuid,
        role text not null,
        decision_required boolean not null,
        created_at timestamptz not null default now(),
        constraint workflow_step_participants_pkey primary key (id),
        constraint workflow_step_participants_once_per_workspace unique (workspace_id, id),
        constraint workflow_step_participants_step_exists foreign key (workspace_id, step_id) references workflow_steps (workspace_id, id),
        constraint workflow_step_participants_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint workflow_step_participants_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint workflow_step_participants_user_exists foreign key (user_id) references users (id),
        constraint workflow_step_participants_one_holder check ((agent_id is null) <> (user_id is null)),
        constraint workflow_step_participants_role_known check (role in ('reviewer', 'approver', 'watcher')),
        constraint workflow_step_participants_watchers_decide_nothing check (role <> 'watcher' or not decision_required)
      )`);
    await db.query(`
      create unique index workflow_step_participants_once
        on workflow_step_participants (step_id, task_id, agent_id, user_id) nulls not distinct`);
    await db.query(`
      create index workflow_step_participants_by_task on workflow_step_participants (task_id) where task_id is not null`);

    await db.query(`
      create table task_step_decisions (
        id uuid not null,
        workspace_id uuid not null,
        task_id uuid not null,
        step_id uuid not null,
        agent_id uuid,
        user_id uuid,
        role text not null,
        decision text not null,
        note text,
        decided_by_kind text not null,
        decided_by_id uuid not null,
        run_id uuid,
        decided_at timestamptz not null default clock_timestamp(),
        superseded_at timestamptz,
        constraint task_step_decisions_pkey primary key (id),
        constraint task_step_decisions_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint task_step_decisions_step_exists foreign key (workspace_id, step_id) references workflow_steps (workspace_id, id),
        constraint task_step_decisions_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint task_step_decisions_user_exists foreign key (user_id) references users (id),
        constraint task_step_decisions_one_holder check ((agent_id is null) <> (user_id is null)),
        constraint task_step_decisions_role_known check (role in ('reviewer', 'approver')),
        constraint task_step_decisions_decision_known check (decision in ('approved', 'changes_requested')),
        constraint task_step_decisions_decider_known check (decided_by_kind in ('user', 'agent'))
      )`);
    await db.query(`
      create unique index task_step_decisions_one_active
        on task_step_decisions (task_id, step_id, agent_id, user_id) nulls not distinct where superseded_at is null`);
    await db.query(`create index task_step_decisions_by_task on task_step_decisions (task_id, decided_at, id)`);

    // Among a million tasks the watchdog looks for the few that stand at a gate, the longest first. Whether a step is one is in
    // another table, where no index looks; so the task knows it, and the database keeps that true whoever moves the task.
    // The kind of a step never changes.
    await db.query(`alter table tasks add column at_gate boolean not null default false`);
    await db.query(`
      update tasks set at_gate = true from workflow_steps step where step.id = tasks.step_id and step.kind in ('review', 'approval')`);
    await db.query(`
      create function tasks_note_gate() returns trigger language plpgsql as $$
      begin
        new.at_gate := exists (select from workflow_steps step where step.id = new.step_id and step.kind in ('review', 'approval'));
        return new;
      end $$`);
    await db.query(`
      create trigger tasks_step_entered before insert or update of step_id on tasks for each row execute function tasks_note_gate()`);
    await db.query(`
      create index tasks_waiting_at_gate on tasks (step_entered_at, id)
        where at_gate and archived_at is null and deleted_at is null and state not in ('DONE', 'CANCELLED')`);

    await db.query(`
      alter table task_sessions
        add column signal_step_id uuid,
        add column signaled_at timestamptz,
        add column signal jsonb,
        add constraint task_sessions_signal_step_exists
          foreign key (workspace_id, signal_step_id) references workflow_steps (workspace_id, id),
        add constraint task_sessions_signal_whole
          check ((signal_step_id is null) = (signaled_at is null) and (signal is null) = (signaled_at is null))`);
    await db.query(`create index task_sessions_signaled on task_sessions (signaled_at, id) where signaled_at is not null`);

    await db.query(`
      alter table runs
        add column evidence_at timestamptz,
        add column last_content_at timestamptz,
        add column process_alive boolean,
        add column current_tool text,
        add column awaits_permission boolean`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`
      alter table runs drop column evidence_at, drop column last_content_at, drop column process_alive, drop column current_tool,
        drop column awaits_permission`);
    await db.query(`alter table task_sessions drop column signal_step_id, drop column signaled_at, drop column signal`);
    await db.query(`drop trigger tasks_step_entered on tasks`);
    await db.query(`drop function tasks_note_gate`);
    await db.query(`alter table tasks drop column at_gate`);
    await db.query(`drop table task_step_decisions, workflow_step_participants`);
  }
}
