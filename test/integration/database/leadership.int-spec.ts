import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SystemClock } from '../../../src/platform/clock/system-clock.js';
import { DatabaseOutage } from '../../../src/platform/database/database-outage.js';
import { Leadership } from '../../../src/platform/leadership/leadership.service.js';
import { openOfficeDb, type OfficeDb } from '../../support/office-db.js';
import { QuickClock } from '../../support/quick-clock.js';

let db: OfficeDb;
beforeAll(async () => void (db = await openOfficeDb()));
afterAll(() => db.close());

const servers: Leadership[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.beforeApplicationShutdown();
});

/** A server that notes when it is at work. */
function aServer(): { leadership: Leadership; turns: () => number; atWork: () => boolean } {
  const clock = new QuickClock(50);
  const leadership = new Leadership(db.dataSource, new DatabaseOutage(new SystemClock()), clock);
  let turns = 0;
  let atWork = false;
  leadership.register({
    name: 'sweeping',
    everyMs: 1_000,
    work: async (signal) => {
      turns++;
      atWork = true;
      await clock.sleep(500, signal);
      atWork = false;
    },
  });
  leadership.onApplicationBootstrap();
  servers.push(leadership);
  return { leadership, turns: () => turns, atWork: () => atWork };
}

async function until(fact: () => boolean): Promise<void> {
  while (!fact()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe('the leader', () => {
  it('is one, does its work again and again, and hands over when it closes', async () => {
    const [first, second] = [aServer(), aServer()];
    await until(() => first.turns() + second.turns() >= 5);
    const [leader, other] = first.leadership.leads ? [first, second] : [second, first];
    expect(other.turns()).toBe(0);
    await leader.leadership.beforeApplicationShutdown();
    expect(leader.atWork()).toBe(false);
    const done = leader.turns();
    await until(() => other.turns() >= 3);
    expect(leader.turns()).toBe(done);
  });

  it('stops when its connection is lost, and somebody leads again', async () => {
    const [first, second] = [aServer(), aServer()];
    for (let round = 0; round < 3; round++) {
      await until(() => first.leadership.leads !== second.leadership.leads);
      const leader = first.leadership.leads ? first : second;
      await until(() => leader.atWork());
      await db.dataSource.query(
        `select pg_terminate_backend(l.pid) from pg_locks l where l.locktype = 'advisory' and l.granted
            and l.database = (select oid from pg_database where datname = current_database())`,
      );
      await until(() => !leader.leadership.leads);
      expect(leader.atWork()).toBe(false);
      const turns = first.turns() + second.turns();
      await until(() => first.turns() + second.turns() > turns);
    }
  });

  it('goes on after a turn that failed', async () => {
    const clock = new QuickClock(50);
    const leadership = new Leadership(db.dataSource, new DatabaseOutage(clock), clock);
    let turns = 0;
    leadership.register({
      name: 'failing',
      everyMs: 1_000,
      work: () => (++turns === 1 ? Promise.reject(new Error('no luck')) : Promise.resolve()),
    });
    leadership.onApplicationBootstrap();
    servers.push(leadership);
    await until(() => turns >= 3);
  });

  it('needs no connection where there is nothing to do', async () => {
    const leadership = new Leadership(db.dataSource, new DatabaseOutage(new SystemClock()), new SystemClock());
    leadership.onApplicationBootstrap();
    expect(
      await db.dataSource.query(
        `select from pg_stat_activity where application_name = 'agent-office leader' and datname = current_database()`,
      ),
    ).toEqual([]);
    await leadership.beforeApplicationShutdown();
  });
});
