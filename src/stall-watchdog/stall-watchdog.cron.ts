import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { CronTime } from 'cron';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { isUnavailable } from '../platform/database/sqlstate.js';
import { Leadership } from '../platform/leadership/leadership.service.js';
import { StallWatchdog } from './stall-watchdog.service.js';

const NAME = 'stall-watchdog';

/** The alarm clock of the watchdog. It rings on every server; the one that leads looks. */
@Injectable()
export class StallWatchdogCron implements OnModuleInit, OnApplicationBootstrap {
  private readonly logger = new Logger(StallWatchdogCron.name);

  constructor(
    private readonly watchdog: StallWatchdog,
    private readonly leadership: Leadership,
    private readonly schedule: SchedulerRegistry,
    private readonly settings: OfficeSettings,
  ) {}

  onModuleInit(): void {
    this.leadership.stand();
  }

  /** The decorator cannot know the settings. */
  onApplicationBootstrap(): void {
    this.schedule.getCronJob(NAME).setTime(new CronTime(this.settings.OFFICE_WATCHDOG_CRON));
  }

  @Cron('*/30 * * * * *', { name: NAME, waitForCompletion: true })
  async ring(): Promise<void> {
    if (!this.leadership.leads) return this.watchdog.rest();
    try {
      await this.watchdog.tick(() => this.leadership.leads);
    } catch (error) {
      // The next tick comes anyway, and an absent database is already being reported by whoever waits for it.
      if (!isUnavailable(error)) this.logger.error({ err: error }, 'stall watchdog could not look');
    }
  }
}
