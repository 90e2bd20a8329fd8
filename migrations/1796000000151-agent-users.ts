import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which user of the machine the agents of a workspace run as: this number above `OFFICE_AGENT_UID_BASE`, the same on every host. */
export class AgentUsers1796000000151 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`alter table workspaces add column agent_user_number int not null generated always as identity`);
    await db.query(`alter table workspaces add constraint workspaces_agent_user_once unique (agent_user_number)`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`alter table workspaces drop column agent_user_number`);
  }
}
