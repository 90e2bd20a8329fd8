import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Events are not kept for ever; the first that still is has to be known, so that a reader before it is told and not led past a hole. */
export class EventFloor1796000000031 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`alter table office_event_counters add column oldest_seq bigint not null default 1`);
    await db.query(
      `alter table office_event_counters add constraint office_event_counters_floor_range check (oldest_seq between 1 and last_seq + 1)`,
    );
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query(`alter table office_event_counters drop column oldest_seq`);
  }
}
