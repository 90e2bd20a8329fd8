import { Test } from '@nestjs/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppModule } from '../../src/app.module.js';
import { AgentRuntime } from '../../src/execution/agent-runtime.js';
import { THE_SYSTEM } from '../../src/platform/actor.js';
import { readSettings } from '../../src/platform/config/office-settings.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { OfficeHttpAdapter } from '../../src/platform/http/office-http.adapter.js';
import { newId } from '../../src/platform/ids.js';
import { loggerFor } from '../../src/platform/logging/office-logger.js';
import { OfficeHost } from '../../src/platform/office-host.js';
import { OfficeSocketAdapter } from '../../src/realtime/office-socket.adapter.js';
import { WakeService } from '../../src/runs/wake.service.js';
import { Scheduler } from '../../src/scheduler/scheduler.service.js';
import type { Pair } from './furnish.js';
import { NoopRuntime } from './noop-runtime.js';

export const CONCURRENCY = 8;

/** A whole office without doors, over agents that do nothing. */
export async function openOffice(url: string) {
  const home = mkdtempSync(join(tmpdir(), 'office-bench-'));
  const settings = readSettings({
    OFFICE_DATA_DIR: home,
    OFFICE_WORK_DIR: join(home, 'work'),
    OFFICE_MAX_EXECUTIONS: String(CONCURRENCY),
    OFFICE_LOG_LEVEL: 'error',
  });
  const runtime = new NoopRuntime();
  const host = new OfficeHost(newId(), newId(), 'bench');
  const testing = await Test.createTestingModule({ imports: [AppModule.of({ settings, databaseUrl: url, host, stateDir: home })] })
    .overrideProvider(AgentRuntime)
    .useValue(runtime)
    .setLogger(loggerFor(settings))
    .compile();
  const app = testing.createNestApplication<NestFastifyApplication>(new OfficeHttpAdapter());
  app.useWebSocketAdapter(new OfficeSocketAdapter(app));
  return {
    runtime,
    wakes: app.get(WakeService),
    unitOfWork: app.get(UnitOfWork),
    start: async () => {
      await app.init();
      await app.get(Scheduler).open();
    },
    close: async () => {
      await app.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export async function queue(office: Awaited<ReturnType<typeof openOffice>>, pairs: readonly Pair[]): Promise<void> {
  for (const { workspaceId, agentId, taskId } of pairs) {
    await office.unitOfWork.run(workspaceId, (tx) =>
      office.wakes.wake(tx, { agentId, on: { taskId }, reason: 'task_assigned', actor: THE_SYSTEM }),
    );
  }
}
