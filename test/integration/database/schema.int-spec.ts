import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseOptions } from '../../../src/database-options.js';
import { cloneDatabase, openOfficeDb, type OfficeDb } from '../../support/office-db.js';

let office: OfficeDb;
beforeAll(async () => {
  office = await openOfficeDb({ poolSize: 2 });
});
afterAll(() => office.close());

/** Every table with its columns, constraints and indexes, in the words of PostgreSQL. */
async function catalog(dataSource: DataSource): Promise<Record<string, readonly string[]>> {
  const rows = await dataSource.query<{ table: string; lines: string[] }[]>(`
    select relation.relname as table, array_agg(told.line order by told.kind, told.line) as lines
      from pg_class relation
      join lateral (
        select 1 as kind,
               format('%I %s%s%s', attname, format_type(atttypid, atttypmod), case when attnotnull then ' not null' else '' end,
                      ' default ' || pg_get_expr(adbin, adrelid)) as line
          from pg_attribute
          left join pg_attrdef on adrelid = attrelid and adnum = attnum
         where attrelid = relation.oid and attnum > 0 and not attisdropped
        union all
        select 2, format('%I %s', conname, pg_get_constraintdef(oid)) from pg_constraint
         where conrelid = relation.oid and contype <> 'n'
        union all
        select 3, pg_get_indexdef(indexrelid) from pg_index
         where indrelid = relation.oid and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))
        union all
        select 4, 'with ' || array_to_string(relation.reloptions, ', ') where relation.reloptions is not null
      ) told on true
     where relation.relkind = 'r' and relation.relnamespace = 'public'::regnamespace and relation.relname <> 'office_migrations'
     group by relation.relname
     order by relation.relname`);
  return Object.fromEntries(rows.map(({ table, lines }) => [table, lines]));
}

describe('the schema', () => {
  it('is the same to the entities and to the migrations', async () => {
    const { upQueries } = await office.dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  // Entities are compared with the database by name only: what a CHECK or a predicate says is watched here.
  it('is the one that was last agreed on', async () => {
    expect(await catalog(office.dataSource)).toMatchSnapshot();
  });

  it('holds nothing of one workspace that points into another', async () => {
    const loose = await office.dataSource.query<{ name: string }[]>(`
      select conname as name
        from pg_constraint
       where contype = 'f'
         and exists (select from pg_attribute where attrelid = conrelid and attname = 'workspace_id')
         and exists (select from pg_attribute where attrelid = confrelid and attname = 'workspace_id')
         and not exists (
           select from pg_attribute where attrelid = conrelid and attname = 'workspace_id' and attnum = any (conkey))`);
    expect(loose).toEqual([]);
  });

  it('can be taken back whole and made again the same', async () => {
    const { url, drop } = await cloneDatabase({ empty: true });
    const dataSource = await new DataSource(databaseOptions(url, { poolSize: 2 })).initialize();
    try {
      await dataSource.runMigrations();
      const first = await catalog(dataSource);
      for (const _ of dataSource.migrations) await dataSource.undoLastMigration();
      expect(await catalog(dataSource)).toEqual({});
      await dataSource.runMigrations();
      expect(await catalog(dataSource)).toEqual(first);
      expect(first).toEqual(await catalog(office.dataSource));
    } finally {
      await dataSource.destroy();
      await drop();
    }
  });
});
