import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Projects group tasks. */
export class Projects1796000000101 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table projects (
        id uuid not null,
        workspace_id uuid not null,
        name text not null,
        description text,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        constraint projects_pkey primary key (id),
        constraint projects_once_per_workspace unique (workspace_id, id),
        constraint projects_workspace_exists foreign key (workspace_id) references workspaces (id)
      )`);
    await db.query(`alter table tasks add column project_id uuid`);
    await db.query(`
      alter table tasks add constraint tasks_project_exists
        foreign key (workspace_id, project_id) references projects (workspace_id, id)`);
    await db.query(`create index tasks_by_project on tasks (project_id) where project_id is not null`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`alter table tasks drop column project_id`);
    await db.query(`drop table projects`);
  }
}
