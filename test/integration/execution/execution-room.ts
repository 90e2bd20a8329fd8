import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AcpAgentRuntime } from '../../../src/execution/acp-agent-runtime.service.js';
import { AdapterRegistry } from '../../../src/execution/adapter-registry.service.js';
import type { ExecutionEvent, ExecutionLimits, LaunchConfig, LaunchSpec, Outcome } from '../../../src/execution/agent-runtime.js';
import { ExecutionOptions } from '../../../src/execution/execution-options.js';
import { ProcessSupervision } from '../../../src/execution/supervisor/process-supervision.service.js';
import { SystemClock } from '../../../src/platform/clock/system-clock.js';
import { newId } from '../../../src/platform/ids.js';

export const SCRIPTED_AGENT = join(import.meta.dirname, '..', '..', 'support', 'agents', 'scripted-agent.mjs');
const DEADLINE_MS = 20_000;

export const LIMITS: ExecutionLimits = { startMs: 10_000, firstContentMs: 10_000, runMs: 20_000, graceMs: 300, permissionMs: 10_000 };

/** What the scripted agent does when it is asked something (test/support/agents/scripted-agent.mjs). */
export type Deeds = Readonly<Record<string, readonly (readonly unknown[])[]>>;

export interface Asked {
  readonly deeds?: Deeds;
  readonly spec?: Partial<Omit<LaunchSpec, 'config' | 'limits'>>;
  readonly config?: Partial<LaunchConfig>;
  readonly limits?: Partial<ExecutionLimits>;
}

/** Resolves once `look` finds something; rejects at the deadline with what was waited for. */
export async function waitFor<T>(what: string, look: () => T | Promise<T>, ms = DEADLINE_MS): Promise<NonNullable<T>> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
    if (performance.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Live processes that were started with this marker. */
export function processesOf(executionId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`OFFICE_EXECUTION_ID=${executionId}\0`) && isAlive(pid);
      } catch {
        return false;
      }
    });
}

const statOf = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return ['X'];
  }
};

export const isAlive = (pid: number): boolean => !['Z', 'X'].includes(statOf(pid)[0]!);

/** Of its process group. */
export const isLeader = (pid: number): boolean => statOf(pid)[2] === String(pid);

/** Live children of a process. */
export const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && statOf(pid)[1] === String(parent) && isAlive(pid));

/** One launched execution, with all that it told so far. */
export class Watched {
  readonly events: ExecutionEvent[] = [];
  readonly finished: Promise<void>;

  constructor(
    readonly executionId: string,
    private readonly runtime: AcpAgentRuntime,
    stream: AsyncIterable<ExecutionEvent>,
  ) {
    this.finished = (async () => {
      for await (const event of stream) this.events.push(event);
    })();
  }

  until<T extends ExecutionEvent['type']>(type: T, nth = 1): Promise<ExecutionEvent & { type: T }> {
    return waitFor(`${type} of ${this.executionId}`, () => this.all(type)[nth - 1]);
  }

  all<T extends ExecutionEvent['type']>(type: T): (ExecutionEvent & { type: T })[] {
    return this.events.filter((event): event is ExecutionEvent & { type: T } => event.type === type);
  }

  async outcome(nth = 1): Promise<Outcome> {
    return (await this.until('outcome', nth)).outcome;
  }

  /** The payload of a failure. */
  async payload(): Promise<string> {
    const outcome = await this.outcome();
    if (!('payload' in outcome)) throw new Error(`no failure: ${JSON.stringify(outcome)}`);
    return outcome.payload;
  }

  async failure(): Promise<Record<string, unknown>> {
    return JSON.parse(await this.payload()) as Record<string, unknown>;
  }

  /** Resolves when all was told. */
  async gone(): Promise<this> {
    await this.until('gone');
    await this.finished;
    return this;
  }

  stop(reason = 'test'): Promise<void> {
    return this.runtime.stop(this.executionId, reason);
  }

  /** All the agent said, as one text. */
  get said(): string {
    return this.all('update')
      .map(({ update }) => (update['content'] as { text?: string } | undefined)?.text ?? '')
      .join('');
  }
}

/** The execution room by itself, with real processes, in a folder of its own. */
export class ExecutionRoom {
  readonly root = mkdtempSync(join(tmpdir(), 'office-execution-'));
  readonly folder = join(this.root, 'work');
  readonly home = join(this.root, 'home');
  readonly clock = new SystemClock();
  readonly options: ExecutionOptions;
  readonly supervision: ProcessSupervision;
  readonly adapters: AdapterRegistry;
  readonly runtime: AcpAgentRuntime;

  constructor(environment = process.env) {
    this.options = new ExecutionOptions(join(this.root, 'state'), environment);
    this.supervision = new ProcessSupervision(this.options, this.clock);
    this.adapters = new AdapterRegistry(this.options);
    this.runtime = new AcpAgentRuntime(this.adapters, this.supervision, this.clock);
    for (const folder of [this.folder, this.home, this.options.stateDir]) mkdirSync(folder, { recursive: true });
  }

  spec({ deeds, spec, config, limits }: Asked = {}): LaunchSpec {
    return {
      executionId: newId(),
      adapter: 'custom',
      cwd: this.folder,
      env: { HOME: this.home },
      prompt: { preamble: 'You are an agent.', turn: 'Do it.' },
      acpSessionId: null,
      identity: null,
      home: 'server',
      ...spec,
      config: { command: [process.execPath, SCRIPTED_AGENT, JSON.stringify(deeds ?? {})], permissionPolicy: 'ask', ...config },
      limits: { ...LIMITS, ...limits },
    };
  }

  async launch(asked: Asked = {}): Promise<Watched> {
    const { executionId } = await this.runtime.launch(this.spec(asked));
    return new Watched(executionId, this.runtime, this.runtime.subscribeEvents(executionId));
  }

  /** The mock agent with a script. */
  mock(script: unknown, asked: Asked = {}): Promise<Watched> {
    const { command: _ours, ...config } = this.spec(asked).config;
    const spec = { ...this.spec(asked), adapter: 'mock', config: { ...config, script } };
    return this.runtime
      .launch(spec)
      .then(({ executionId }) => new Watched(executionId, this.runtime, this.runtime.subscribeEvents(executionId)));
  }

  async close(): Promise<void> {
    await this.runtime.onApplicationShutdown();
    rmSync(this.root, { recursive: true, force: true });
  }
}
