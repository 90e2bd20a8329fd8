import 'reflect-metadata';
import { Global, Module } from '@nestjs/common';
import type { ModuleMetadata } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/database-options.js';
import type { Clock } from '../../src/platform/clock/clock.js';
import { readSettings } from '../../src/platform/config/office-settings.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { configureHttp } from '../../src/platform/http/configure-http.js';
import { OfficeHttpAdapter } from '../../src/platform/http/office-http.adapter.js';
import { newId } from '../../src/platform/ids.js';
import { loggerFor } from '../../src/platform/logging/office-logger.js';
import { OfficeHost } from '../../src/platform/office-host.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { cloneDatabase } from './office-db.js';

export interface OfficeAppOptions {
  /** The rooms under test. Importing AccessModule (every room does) guards all routes. */
  readonly modules: NonNullable<ModuleMetadata['imports']>;
  /** Ports that rooms above would fill, bound globally. */
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
  /** `OFFICE_*` variables beside the data dir. The log level is `trace`: tests read the log. */
  readonly env?: Readonly<Record<string, string>>;
  /** An existing database and data dir, to start again on; the caller then drops them. */
  readonly databaseUrl?: string;
  readonly dataDir?: string;
  readonly hostId?: string;
  readonly clock?: Clock;
  /** Called before the application starts, for what the rooms need of it. */
  readonly configure?: (app: NestFastifyApplication) => void;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The parsed body; undefined for an empty one. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Ask {
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The peer's address; 127.0.0.1 unless said otherwise. */
  readonly from?: string;
}

export interface OfficeApp {
  readonly app: NestFastifyApplication;
  readonly dataSource: DataSource;
  readonly unitOfWork: UnitOfWork;
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** The first admin's token; empty when OFFICE_ADMIN_TOKEN was given. */
  readonly adminToken: string;
  /** Every line the office has logged so far. */
  readonly log: readonly string[];
  /** `ask('POST /api/v1/users', { token, body })`. */
  ask(route: string, ask?: Ask): Promise<Answer>;
  /** Rows of any statement. */
  rows<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /** Closes it, and drops database and data dir unless they were given (or `keep`). */
  close(how?: { keep?: boolean }): Promise<void>;
}

/** Real rooms behind a real front desk on a database of their own; requests go in through Fastify without a socket. */
export async function openOfficeApp(options: OfficeAppOptions): Promise<OfficeApp> {
  const database = options.databaseUrl === undefined ? await cloneDatabase() : { url: options.databaseUrl, drop: async () => undefined };
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'office-app-')));
  const settings = readSettings({
    OFFICE_DATA_DIR: dataDir,
    OFFICE_WORK_DIR: join(dataDir, 'work'),
    OFFICE_LOG_LEVEL: 'trace',
    ...options.env,
  });
  const log: string[] = [];
  const host = new OfficeHost(options.hostId ?? newId(), newId(), 'test-host');

  const providers = options.providers ?? [];
  @Global()
  @Module({ providers, exports: providers.map((provider) => (typeof provider === 'function' ? provider : provider.provide)) })
  class Ports {}

  const testing = await Test.createTestingModule({
    imports: [
      PlatformModule.forRoot({
        settings,
        database: databaseOptions(database.url, { poolSize: 10 }),
        host,
        ...(options.clock && { clock: options.clock }),
      }),
      Ports,
      ...options.modules,
    ],
  })
    .setLogger(loggerFor(settings, { write: (line: string) => void log.push(line) }))
    .compile();
  const app = testing.createNestApplication<NestFastifyApplication>(new OfficeHttpAdapter());
  configureHttp(app);
  options.configure?.(app);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  const dataSource = app.get(DataSource);

  return {
    app,
    dataSource,
    unitOfWork: app.get(UnitOfWork),
    databaseUrl: database.url,
    dataDir,
    adminToken: await readFile(join(dataDir, 'admin-token'), 'utf8').then(
      (text) => text.trim(),
      () => '',
    ),
    log,
    ask: (route, ask = {}) => inject(app, route, ask),
    rows: (sql, parameters) => dataSource.query(sql, parameters),
    close: async ({ keep = false } = {}) => {
      await app.close();
      if (keep) return;
      await database.drop();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function inject(app: NestFastifyApplication, route: string, { token, body, headers, from = '127.0.0.1' }: Ask): Promise<Answer> {
  const [method, url] = route.split(' ') as [never, string];
  const answer = await app.inject({
    method,
    url,
    remoteAddress: from,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.payload,
    body: (isJson && answer.payload !== '' ? JSON.parse(answer.payload) : undefined) as Answer['body'],
  };
}
