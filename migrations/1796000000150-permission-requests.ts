import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What agents ask people for in the middle of a turn, and what an admin has allowed an agent for good. */
export class PermissionRequests1796000000150 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table permission_requests (
        id uuid not null,
        workspace_id uuid not null,
        run_id uuid not null,
        agent_id uuid not null,
        task_id uuid,
        title text not null,
        tool_kind text,
        input text,
        subject text not null,
        asked_at timestamptz not null default now(),
        expires_at timestamptz not null,
        decision text,
        decided_by uuid,
        closed_at timestamptz,
        constraint permission_requests_pkey primary key (id),
        constraint permission_requests_once_per_workspace unique (workspace_id, id),
        constraint permission_requests_run_exists foreign key (workspace_id, run_id)
          references runs (workspace_id, id) on delete cascade,
        constraint permission_requests_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint permission_requests_task_exists foreign key (workspace_id, task_id) references tasks (workspace_id, id),
        constraint permission_requests_decider_exists foreign key (decided_by) references users (id),
        constraint permission_requests_decision_known check (decision in ('allow_once', 'allow_always', 'deny')),
        constraint permission_requests_decision_closes check (decision is null or closed_at is not null),
        constraint permission_requests_decider_decides check (decided_by is null or decision is not null)
      )`);
    await db.query(`create index permission_requests_open on permission_requests (workspace_id, asked_at, id) where closed_at is null`);
    await db.query(`create index permission_requests_by_run on permission_requests (run_id, closed_at)`);

    await db.query(`
      create table permission_grants (
        workspace_id uuid not null,
        agent_id uuid not null,
        subject text not null,
        title text not null,
        granted_by uuid not null,
        granted_at timestamptz not null default now(),
        constraint permission_grants_pkey primary key (agent_id, subject),
        constraint permission_grants_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint permission_grants_granter_exists foreign key (granted_by) references users (id)
      )`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop table permission_grants, permission_requests`);
  }
}
