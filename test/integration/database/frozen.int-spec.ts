import { DataSource } from 'typeorm';
import { afterEach, describe, expect, it } from 'vitest';
import { databaseOptions } from '../../../src/database-options.js';
import { SystemClock } from '../../../src/platform/clock/system-clock.js';
import { Nudges } from '../../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../../src/platform/database/unit-of-work.js';
import { newId } from '../../../src/platform/ids.js';
import { openDatabaseGate } from '../../support/database-gate.js';
import { cloneDatabase } from '../../support/office-db.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

describe('a database that freezes in the middle of a transaction', () => {
  it('never hands the half of it to whoever gets the connection next', async () => {
    const { url, drop } = await cloneDatabase();
    cleanUps.push(drop);
    const gate = await openDatabaseGate(url);
    cleanUps.push(() => gate.close());
    const dataSource = await new DataSource({
      ...databaseOptions(gate.url, { poolSize: 1 }),
      extra: { query_timeout: 300, connectionTimeoutMillis: 2_000 },
    } as never).initialize();
    cleanUps.push(() => dataSource.destroy());
    const direct = await new DataSource(databaseOptions(url, { poolSize: 1 })).initialize();
    cleanUps.push(() => direct.destroy());
    const unitOfWork = new UnitOfWork(dataSource, new Nudges(dataSource, new SystemClock()), new SystemClock());
    const add = (name: string) => `insert into users (id, name) values ('${newId()}', '${name}')`;

    const half = unitOfWork.runForInstance(async (tx) => {
      await tx.query(add('half'));
      gate.freeze();
      await tx.query(add('frozen'));
    });
    await expect(half).rejects.toThrow('Query read timeout');
    gate.thaw();
    await unitOfWork.runForInstance((tx) => tx.query(add('whole')));
    await unitOfWork.statement(add('alone'));
    const names = await direct.query<{ name: string }[]>(`select name from users where not is_reserved order by id`);
    expect(names.map(({ name }) => name)).toEqual(['whole', 'alone']);
  });
});
