import { Inject, Injectable, Module } from '@nestjs/common';
import type { DynamicModule, OnModuleInit } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { DataSourceOptions } from 'typeorm';
import { Clock } from './clock/clock.js';
import { SystemClock } from './clock/system-clock.js';
import { OfficeSettings } from './config/office-settings.js';
import { DatabaseOutage } from './database/database-outage.js';
import { NudgeListener } from './database/nudge-listener.js';
import { Nudges } from './database/nudges.js';
import { UnitOfWork } from './database/unit-of-work.js';
import { Readiness } from './health/readiness.js';
import { ApiDocument } from './http/api-document.js';
import { OfficeAddress } from './http/office-address.js';
import { Leadership } from './leadership/leadership.service.js';
import { Metrics } from './metrics/metrics.js';
import { OfficeHost } from './office-host.js';

export interface PlatformOptions {
  readonly settings: OfficeSettings;
  /** `databaseOptions(url)` of `src/database-options.ts`: platform knows no tables. The database must be migrated already. */
  readonly database: DataSourceOptions;
  readonly host: OfficeHost;
  /** Another clock, for tests. */
  readonly clock?: Clock;
}

/** Registers the checks of the building itself: the database answers, and it has the schema this program was written for. */
@Injectable()
class BuildingChecks implements OnModuleInit {
  constructor(
    @Inject(DataSource) private readonly dataSource: DataSource,
    private readonly readiness: Readiness,
  ) {}

  onModuleInit(): void {
    this.readiness.register('database', async () => void (await this.dataSource.query('select 1')));
    this.readiness.register('migrations', () => this.assertMigrated());
  }

  private async assertMigrated(): Promise<void> {
    const { migrations, options } = this.dataSource;
    const [last] = await this.dataSource.query<{ name: string }[]>(
      `select name from ${options.migrationsTableName ?? 'migrations'} order by id desc limit 1`,
    );
    const expected = migrations.map(({ name, constructor }) => name ?? constructor.name).at(-1);
    if (last?.name !== expected) throw new Error(`the database is at ${last?.name}, the program at ${expected}`);
  }
}

/** What every room may ask for without importing anything: settings, time, the database, metrics, readiness. */
@Module({})
export class PlatformModule {
  static forRoot({ settings, database, host, clock = new SystemClock() }: PlatformOptions): DynamicModule {
    const services = [ApiDocument, UnitOfWork, Nudges, NudgeListener, DatabaseOutage, Leadership, Metrics, OfficeAddress, Readiness];
    const values = [
      { provide: OfficeSettings, useValue: settings },
      { provide: OfficeHost, useValue: host },
      { provide: Clock, useValue: clock },
    ];
    return {
      module: PlatformModule,
      global: true,
      // One attempt: whoever starts the server has opened this database a moment ago, and says why when it cannot.
      imports: [TypeOrmModule.forRoot({ ...database, retryAttempts: 0, autoLoadEntities: false })],
      providers: [...values, ...services, BuildingChecks],
      exports: [...values, ...services, TypeOrmModule],
    };
  }
}
