import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What agents were refused for want of a capability, until a person grants it or leaves it so. */
export class MissingCapabilities1796000000170 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
      create table missing_capabilities (
        id uuid not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        capability text not null,
        action text not null,
        run_id uuid not null,
        denied_at timestamptz not null default now(),
        closed_at timestamptz,
        granted boolean,
        constraint missing_capabilities_pkey primary key (id),
        constraint missing_capabilities_once_per_workspace unique (workspace_id, id),
        constraint missing_capabilities_agent_exists foreign key (workspace_id, agent_id) references agent_instances (workspace_id, id),
        constraint missing_capabilities_run_exists foreign key (workspace_id, run_id) references runs (workspace_id, id),
        constraint missing_capabilities_closed_one_way check ((closed_at is null) = (granted is null))
      )`);
    await db.query(
      `create unique index missing_capabilities_one_open on missing_capabilities (agent_id, capability) where closed_at is null`,
    );
    await db.query(`create index missing_capabilities_of_agent on missing_capabilities (agent_id, capability, closed_at)`);
    await db.query(`create index missing_capabilities_open on missing_capabilities (workspace_id, denied_at, id) where closed_at is null`);
    await db.query(`create index missing_capabilities_by_run on missing_capabilities (run_id)`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`drop table missing_capabilities`);
  }
}
