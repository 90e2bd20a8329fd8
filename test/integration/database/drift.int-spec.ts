import { afterAll, beforeAll, expect, it } from 'vitest';
import { openOfficeDb, type OfficeDb } from '../../support/office-db.js';

let office: OfficeDb;
beforeAll(async () => {
  office = await openOfficeDb();
});
afterAll(() => office.close());

it('entities and migrations describe the same tables', async () => {
  const { upQueries } = await office.dataSource.driver.createSchemaBuilder().log();
  expect(upQueries.map(({ query }) => query)).toEqual([]);
});
