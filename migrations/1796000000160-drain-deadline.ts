import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Until when a host that drains lets its turns end. */
export class DrainDeadline1796000000160 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`alter table hosts add column drain_until timestamptz`);
    await db.query(`alter table hosts add constraint hosts_drain_has_a_deadline check (draining or drain_until is null)`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`alter table hosts drop column drain_until`);
  }
}
