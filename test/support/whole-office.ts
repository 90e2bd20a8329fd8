import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppModule } from '../../src/app.module.js';
import { readSettings } from '../../src/platform/config/office-settings.js';
import { configureHttp } from '../../src/platform/http/configure-http.js';
import { OfficeHttpAdapter } from '../../src/platform/http/office-http.adapter.js';
import { newId } from '../../src/platform/ids.js';
import { OfficeLogger } from '../../src/platform/logging/office-logger.js';
import { OfficeHost } from '../../src/platform/office-host.js';
import { OfficeSocketAdapter } from '../../src/realtime/office-socket.adapter.js';
import { cloneDatabase } from './office-db.js';

/** Every room in this process, on a database of its own. Its doors and its scheduler stay closed until somebody opens them. */
export interface WholeOffice {
  readonly app: NestFastifyApplication;
  readonly host: OfficeHost;
  readonly dataDir: string;
  /** Known once it has been initialised. */
  adminToken(): Promise<string>;
  close(): Promise<void>;
}

export async function wholeOffice(): Promise<WholeOffice> {
  const database = await cloneDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'whole-office-'));
  const host = new OfficeHost(newId(), newId(), 'test');
  const settings = readSettings({ OFFICE_DATA_DIR: dataDir, OFFICE_WORK_DIR: join(dataDir, 'work') });
  const module = AppModule.of({ settings, databaseUrl: database.url, host, stateDir: join(dataDir, 'state') });
  const testing = await Test.createTestingModule({ imports: [module] })
    .setLogger(new OfficeLogger('silent'))
    .compile();
  const app = testing.createNestApplication<NestFastifyApplication>(new OfficeHttpAdapter(), { logger: false });
  configureHttp(app);
  app.useWebSocketAdapter(new OfficeSocketAdapter(app));
  return {
    app,
    host,
    dataDir,
    adminToken: async () => (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim(),
    close: async () => {
      await app.close();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
