import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppModule } from '../../src/app.module.js';
import { readSettings } from '../../src/platform/config/office-settings.js';
import { configureHttp } from '../../src/platform/http/configure-http.js';
import { OfficeHttpAdapter } from '../../src/platform/http/office-http.adapter.js';
import { newId } from '../../src/platform/ids.js';
import { OfficeLogger } from '../../src/platform/logging/office-logger.js';
import { OfficeHost } from '../../src/platform/office-host.js';
import { cloneDatabase } from '../support/office-db.js';
import { inventoryLines, routeInventory } from '../support/route-inventory.js';
import type { RouteEntry } from '../support/route-inventory.js';

/** The whole office, built but never opened: its routes are read, nothing of it runs. */
describe('the routes of the whole office', () => {
  let database: { url: string; drop(): Promise<void> };
  let dataDir: string;
  let app: NestFastifyApplication;
  let routes: RouteEntry[];
  beforeAll(async () => {
    database = await cloneDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'office-routes-'));
    const settings = readSettings({ OFFICE_DATA_DIR: dataDir, OFFICE_WORK_DIR: join(dataDir, 'work') });
    const office = AppModule.of({
      settings,
      databaseUrl: database.url,
      host: new OfficeHost(newId(), newId(), 'test'),
      stateDir: join(dataDir, 'state'),
    });
    const testing = await Test.createTestingModule({ imports: [office] })
      .setLogger(new OfficeLogger('silent'))
      .compile();
    app = testing.createNestApplication<NestFastifyApplication>(new OfficeHttpAdapter(), { logger: false });
    configureHttp(app);
    routes = routeInventory(app);
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  // A change of this snapshot is a change of who may do what. Review it as a change of permissions, not as a refresh.
  it('are these', () => {
    expect(inventoryLines(routes)).toMatchSnapshot();
  });

  it('all say who may call them', () => {
    expect(routes.filter(({ access }) => access === 'UNDECLARED').map(({ handler }) => handler)).toEqual([]);
  });

  it('have no argument that nothing checks', () => {
    expect(inventoryLines(routes.filter(({ unchecked }) => unchecked.length > 0))).toEqual([]);
  });

  it('act once under an Idempotency-Key wherever they create or wake', () => {
    const exempt = new Set(['pause', 'unpause', 'stop', 'start', 'cancel', 'drain', 'push', 'discard', 'mcp']);
    const forgetful = routes.filter(
      ({ method, idempotent, path }) => method === 'POST' && !idempotent && !exempt.has(path.split('/').at(-1)!),
    );
    expect(forgetful.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });
});
