import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppModule } from '../../../src/app.module.js';
import {
  AgentRuntime,
  type Execution,
  type ExecutionEvent,
  type ExecutionRef,
  type LaunchSpec,
  type Outcome,
} from '../../../src/execution/agent-runtime.js';
import { AdapterRegistry } from '../../../src/execution/adapter-registry.service.js';
import { Clock } from '../../../src/platform/clock/clock.js';
import { readSettings } from '../../../src/platform/config/office-settings.js';
import { UnitOfWork } from '../../../src/platform/database/unit-of-work.js';
import { OfficeHttpAdapter } from '../../../src/platform/http/office-http.adapter.js';
import { newId } from '../../../src/platform/ids.js';
import { loggerFor } from '../../../src/platform/logging/office-logger.js';
import { OfficeHost } from '../../../src/platform/office-host.js';
import { OfficeSocketAdapter } from '../../../src/realtime/office-socket.adapter.js';
import { WakeService } from '../../../src/runs/wake.service.js';
import { Scheduler } from '../../../src/scheduler/scheduler.service.js';

/** The time of a machine whose clock somebody sets: `now` jumps, what has passed does not. */
export class JumpingClock extends Clock {
  offMs = 0;

  override now(): Date {
    return new Date(Date.now() + this.offMs);
  }
  override monotonicMs(): number {
    return performance.now();
  }
  override after(ms: number, callback: () => void, keepsAlive = false): { cancel(): void } {
    const timer = setTimeout(callback, ms);
    if (!keepsAlive) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  }
}

/** Agents without processes, whose turns end when a test says so. */
export class HeldTurns extends AgentRuntime {
  private readonly ends = new Map<string, (outcome: Outcome) => void>();

  override launch({ executionId }: LaunchSpec): Promise<ExecutionRef> {
    return Promise.resolve({ executionId });
  }
  override async *subscribeEvents(executionId: string): AsyncIterable<ExecutionEvent> {
    yield { type: 'launched', processGroup: 1 };
    yield { type: 'session_ready', acpSessionId: executionId, loaded: false, loadFailure: null, promptSent: '' };
    yield { type: 'outcome', outcome: await new Promise<Outcome>((resolve) => this.ends.set(executionId, resolve)) };
    yield { type: 'gone' };
  }
  endAll(): void {
    for (const end of this.ends.values()) end({ kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
    this.ends.clear();
  }
  override stop(executionId: string): Promise<void> {
    this.ends.get(executionId)?.({ kind: 'stopped', reason: 'stopped' });
    return Promise.resolve();
  }
  override resume(): Promise<void> {
    return Promise.resolve();
  }
  override getExecution(): Execution | null {
    return null;
  }
  override setMcpMode(): Promise<void> {
    return Promise.resolve();
  }
  override answerPermission(): Promise<void> {
    return Promise.resolve();
  }
  override executions(): readonly Execution[] {
    return [];
  }
}

export interface ClockedOffice {
  readonly hostId: string;
  readonly turns: HeldTurns;
  readonly wakes: WakeService;
  readonly unitOfWork: UnitOfWork;
  close(): Promise<void>;
}

/** A whole office in this process, without doors, that lives by the clock it is given. */
export async function openClockedOffice(url: string, clock: Clock, env: Readonly<Record<string, string>> = {}): Promise<ClockedOffice> {
  const home = mkdtempSync(join(tmpdir(), 'office-clocked-'));
  const settings = readSettings({ OFFICE_DATA_DIR: home, OFFICE_WORK_DIR: join(home, 'work'), OFFICE_LOG_LEVEL: 'error', ...env });
  const turns = new HeldTurns();
  const host = new OfficeHost(newId(), newId(), 'clocked');
  const testing = await Test.createTestingModule({ imports: [AppModule.of({ settings, databaseUrl: url, host, stateDir: home })] })
    .overrideProvider(AgentRuntime)
    .useValue(turns)
    .overrideProvider(AdapterRegistry)
    .useValue({ installed: () => ['mock'], inheritedCredentials: () => [] })
    .overrideProvider(Clock)
    .useValue(clock)
    .setLogger(loggerFor(settings))
    .compile();
  const app = testing.createNestApplication<NestFastifyApplication>(new OfficeHttpAdapter());
  app.useWebSocketAdapter(new OfficeSocketAdapter(app));
  await app.init();
  await app.get(Scheduler).open();
  return {
    hostId: host.id,
    turns,
    wakes: app.get(WakeService),
    unitOfWork: app.get(UnitOfWork),
    close: async () => {
      turns.endAll();
      await app.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
