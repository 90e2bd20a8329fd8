import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { AdapterRegistry } from './adapter-registry.service.js';
import { AgentExecution } from './agent-execution.js';
import {
  AgentRuntime,
  ExecutionError,
  type Execution,
  type ExecutionEvent,
  type ExecutionRef,
  type LaunchSpec,
  type McpMode,
  type PermissionDecision,
} from './agent-runtime.js';
import { ProcessSupervision } from './supervisor/process-supervision.service.js';

/** What an execution told stays this long for a first reader after it is gone. */
const UNREAD_MS = 600_000;
const SHUTDOWN_MS = 20_000;

/** Runs agents as local processes that speak ACP over stdio. */
@Injectable()
export class AcpAgentRuntime extends AgentRuntime implements OnApplicationShutdown {
  private readonly logger = new Logger(AcpAgentRuntime.name);
  private readonly known = new Map<string, AgentExecution>();
  private closing = false;

  constructor(
    private readonly adapters: AdapterRegistry,
    private readonly supervision: ProcessSupervision,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async launch(spec: LaunchSpec): Promise<ExecutionRef> {
    const { executionId } = spec;
    if (this.known.has(executionId)) throw new ExecutionError('execution_exists', executionId);
    const adapter = this.adapters.profile(spec.adapter);
    if (adapter === null) throw new ExecutionError('adapter_unknown', executionId);
    const { clock, logger, adapters, supervision } = this;
    const forget = (): void => {
      if (this.known.get(executionId) === execution) this.known.delete(executionId);
    };
    const execution = new AgentExecution(spec, adapter, { clock, logger, adapters, supervision, spent: forget });
    this.known.set(executionId, execution);
    void execution.gone.then(() => clock.after(UNREAD_MS, forget));
    execution.start();
    if (this.closing) void execution.stop('shutdown');
    return { executionId };
  }

  override async resume(executionId: string, turn: string): Promise<void> {
    this.find(executionId).resume(turn);
  }

  override async stop(executionId: string, reason: string): Promise<void> {
    await this.known.get(executionId)?.stop(reason);
  }

  override getExecution(executionId: string): Execution | null {
    return this.known.get(executionId)?.view() ?? null;
  }

  override subscribeEvents(executionId: string): AsyncIterable<ExecutionEvent> {
    return this.find(executionId).log.subscribe();
  }

  override async setMcpMode(executionId: string, mode: McpMode): Promise<void> {
    this.find(executionId).setMcpMode(mode);
  }

  override async answerPermission(executionId: string, requestId: string, decision: PermissionDecision): Promise<void> {
    this.find(executionId).answerPermission(requestId, decision);
  }

  override executions(): readonly Execution[] {
    return [...this.known.values()].map((execution) => execution.view()).filter(({ state }) => state !== 'gone');
  }

  /** Ends every agent. What does not end in time is left to the supervisor, which outlives us. */
  async onApplicationShutdown(): Promise<void> {
    this.closing = true;
    const over = new AbortController();
    const stops = [...this.known.values()].map((execution) => execution.stop('shutdown'));
    await Promise.race([Promise.all(stops), this.clock.sleep(SHUTDOWN_MS, over.signal)]);
    over.abort();
    await this.supervision.close();
  }

  private find(executionId: string): AgentExecution {
    const execution = this.known.get(executionId);
    if (execution === undefined) throw new ExecutionError('execution_not_found', executionId);
    return execution;
  }
}
