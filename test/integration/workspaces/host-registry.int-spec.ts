import { afterAll, beforeAll, expect, it } from 'vitest';
import { OfficeSettings } from '../../../src/platform/config/office-settings.js';
import { newId } from '../../../src/platform/ids.js';
import { OfficeHost } from '../../../src/platform/office-host.js';
import { HostRegistry } from '../../../src/workspaces/host-registry.service.js';
import { openOfficeDb, type OfficeDb } from '../../support/office-db.js';

let office: OfficeDb;
beforeAll(async () => {
  office = await openOfficeDb();
});
afterAll(() => office.close());

it('a host begins anew when it has not been seen for a lease, and not before', async () => {
  const host = new OfficeHost(newId(), newId(), 'den');
  const registry = new HostRegistry(office.unitOfWork, new OfficeSettings(), host);
  const secondsSinceResumed = async (): Promise<number> => {
    const [row] = await office.dataSource.query<[{ seconds: number }]>(
      `select round(extract(epoch from now() - resumed_at))::int as seconds from hosts where id = $1`,
      [host.id],
    );
    return row.seconds;
  };
  const pretend = (seen: number): Promise<unknown> =>
    office.dataSource.query(
      `update hosts set resumed_at = now() - interval '1 hour', last_seen_at = now() - make_interval(secs => $2) where id = $1`,
      [host.id, seen],
    );

  await registry.register(['mock']);
  await pretend(60);
  expect(await registry.heartbeat()).toBe(true);
  expect(await secondsSinceResumed()).toBe(3_600);
  await pretend(180);
  await registry.heartbeat();
  expect(await secondsSinceResumed()).toBe(0);
  await pretend(180);
  await registry.register(['mock']);
  expect(await secondsSinceResumed()).toBe(0);
});
