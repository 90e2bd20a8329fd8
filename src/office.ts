import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { hostname } from 'node:os';
import { AppModule } from './app.module.js';
import { openFoundation } from './foundation.js';
import type { OfficeSettings } from './platform/config/office-settings.js';
import { StartError } from './platform/errors/start-error.js';
import { configureHttp } from './platform/http/configure-http.js';
import { OfficeAddress } from './platform/http/office-address.js';
import { OfficeHttpAdapter } from './platform/http/office-http.adapter.js';
import type { OfficeLogger } from './platform/logging/office-logger.js';
import { OfficeHost } from './platform/office-host.js';
import { openWorkDir } from './platform/state/work-dir.js';
import { OfficeSocketAdapter } from './realtime/office-socket.adapter.js';
import { Scheduler } from './scheduler/scheduler.service.js';

export interface Office {
  /** Where it listens, without a path. */
  readonly url: string;
  /** Drains, closes the doors, then the database. */
  close(): Promise<void>;
}

/** Opens the doors of a whole office. Throws a `StartError` whose message is the one line to print; nothing is left behind then. */
export async function openOffice(settings: OfficeSettings, logger: OfficeLogger): Promise<Office> {
  const foundation = await openFoundation(settings, logger);
  try {
    await openWorkDir(settings.OFFICE_WORK_DIR, settings.OFFICE_DATA_DIR);
    const { databaseUrl, state, host } = foundation;
    const module = AppModule.of({
      settings,
      databaseUrl,
      host: new OfficeHost(host.id, host.bootId, hostname()),
      stateDir: state.statePath,
    });
    const app = await NestFactory.create<NestFastifyApplication>(module, new OfficeHttpAdapter(), { logger, abortOnError: false });
    configureHttp(app);
    app.useWebSocketAdapter(new OfficeSocketAdapter(app));
    await app.listen(settings.OFFICE_PORT, settings.OFFICE_HOST).catch(async (error: NodeJS.ErrnoException) => {
      await app.close();
      if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES' && error.code !== 'EADDRNOTAVAIL') throw error;
      throw new StartError(
        `Cannot listen on ${settings.OFFICE_HOST}:${settings.OFFICE_PORT} (${error.code}). Set OFFICE_PORT or OFFICE_HOST.`,
      );
    });
    const url = await app.getUrl();
    app.get(OfficeAddress).openedAt(url);
    await app.get(Scheduler).open();
    return {
      url,
      close: async () => {
        await app.close();
        await foundation.close();
      },
    };
  } catch (error) {
    await foundation.close();
    throw error;
  }
}
