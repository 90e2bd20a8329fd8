import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Repositories that admins have registered, and the git worktrees of tasks that work in one. */
export class Repositories1796000000140 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table repositories (
        id uuid not null,
        workspace_id uuid not null,
        host_id uuid not null,
        name text not null,
        path text not null,
        created_at timestamptz not null default now(),
        removed_at timestamptz,
        constraint repositories_pkey primary key (id),
        constraint repositories_once_per_workspace unique (workspace_id, id),
        constraint repositories_workspace_exists foreign key (workspace_id) references workspaces (id),
        constraint repositories_host_exists foreign key (host_id) references hosts (id)
      )`);
    await db.query(`
      create unique index repositories_registered_once on repositories (workspace_id, host_id, path) where removed_at is null`);
    await db.query(`alter table projects add column repository_id uuid`);
    await db.query(`
      alter table projects add constraint projects_repository_exists
        foreign key (workspace_id, repository_id) references repositories (workspace_id, id)`);
    await db.query(`alter table tasks add column repository_id uuid`);
    await db.query(`
      alter table tasks add constraint tasks_repository_exists
        foreign key (workspace_id, repository_id) references repositories (workspace_id, id)`);
    // A task keeps the repository it was made with: its work is there. Its project only says which one that is by default.
    await db.query(`
      create function office_repository_of_project() returns trigger language plpgsql as $$
      begin
        new.repository_id := (
          select p.repository_id from projects p join repositories r on r.id = p.repository_id
           where p.workspace_id = new.workspace_id and p.id = new.project_id and r.removed_at is null);
        return new;
      end $$`);
    await db.query(`
      create trigger tasks_repository_of_project before insert on tasks
        for each row when (new.repository_id is null and new.project_id is not null)
        execute function office_repository_of_project()`);
    await db.query(`
      alter table task_folders
        add column repository_id uuid,
        add column base_branch text,
        add column base_commit text,
        add column made_at timestamptz,
        add column pushed_commit text,
        add column removing_at timestamptz,
        add column checked_at timestamptz,
        add column uncommitted integer,
        add column unpushed integer,
        add constraint task_folders_repository_exists
          foreign key (workspace_id, repository_id) references repositories (workspace_id, id),
        add constraint task_folders_made_is_known
          check (made_at is null or (repository_id is not null and branch is not null and base_commit is not null))`);
    await db.query(`create index task_folders_worktrees on task_folders (workspace_id, task_id) where repository_id is not null`);
    await db.query(`create index task_folders_worktrees_by_host on task_folders (host_id, checked_at) where repository_id is not null`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop trigger tasks_repository_of_project on tasks`);
    await db.query(`drop function office_repository_of_project`);
    await db.query(`
      alter table task_folders
        drop column repository_id, drop column base_branch, drop column base_commit, drop column made_at, drop column pushed_commit,
        drop column removing_at, drop column checked_at, drop column uncommitted, drop column unpushed`);
    await db.query(`alter table tasks drop column repository_id`);
    await db.query(`alter table projects drop column repository_id`);
    await db.query(`drop table repositories`);
  }
}
