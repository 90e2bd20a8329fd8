import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { DataSource } from 'typeorm';
import { afterEach, describe, expect, it } from 'vitest';
import { databaseOptions } from '../../../src/database-options.js';
import { SystemClock } from '../../../src/platform/clock/system-clock.js';
import { Nudges } from '../../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../../src/platform/database/unit-of-work.js';
import { newId } from '../../../src/platform/ids.js';
import { cloneDatabase } from '../../support/office-db.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

/** A network that can freeze: what is sent meanwhile arrives when it thaws. */
async function icyNetwork(databaseUrl: string): Promise<{ url: string; freeze(): void; thaw(): void }> {
  const target = new URL(databaseUrl);
  const late: [Socket, Buffer][] = [];
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((inner) => {
    const outer = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => (frozen ? late.push([to, chunk]) : to.write(chunk)));
      from.on('error', () => to.destroy());
      // A goodbye is late too.
      from.on('close', () => !frozen && to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    freeze: () => void (frozen = true),
    thaw: () => {
      frozen = false;
      for (const [to, chunk] of late.splice(0)) if (!to.destroyed) to.write(chunk);
    },
  };
}

describe('a database that freezes in the middle of a transaction', () => {
  it('never hands the half of it to whoever gets the connection next', async () => {
    const { url, drop } = await cloneDatabase();
    cleanUps.push(drop);
    const network = await icyNetwork(url);
    const dataSource = await new DataSource({
      ...databaseOptions(network.url, { poolSize: 1 }),
      extra: { query_timeout: 300, connectionTimeoutMillis: 2_000 },
    } as never).initialize();
    cleanUps.push(() => dataSource.destroy());
    const direct = await new DataSource(databaseOptions(url, { poolSize: 1 })).initialize();
    cleanUps.push(() => direct.destroy());
    const unitOfWork = new UnitOfWork(dataSource, new Nudges(dataSource), new SystemClock());
    const add = (name: string) => `insert into users (id, name) values ('${newId()}', '${name}')`;

    const half = unitOfWork.runForInstance(async (tx) => {
      await tx.query(add('half'));
      network.freeze();
      await tx.query(add('frozen'));
    });
    await expect(half).rejects.toThrow('Query read timeout');
    network.thaw();
    await unitOfWork.runForInstance((tx) => tx.query(add('whole')));
    await unitOfWork.statement(add('alone'));
    const names = await direct.query<{ name: string }[]>(`select name from users where not is_reserved order by id`);
    expect(names.map(({ name }) => name)).toEqual(['whole', 'alone']);
  });
});
