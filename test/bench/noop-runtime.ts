import {
  AgentRuntime,
  type Execution,
  type ExecutionEvent,
  type ExecutionRef,
  type LaunchSpec,
} from '../../src/execution/agent-runtime.js';

/** Agents that have nothing to do: the office's own cost without any process's. */
export class NoopRuntime extends AgentRuntime {
  launches = 0;
  onLaunch: (spec: LaunchSpec) => void = () => undefined;

  override launch(spec: LaunchSpec): Promise<ExecutionRef> {
    this.launches++;
    this.onLaunch(spec);
    return Promise.resolve({ executionId: spec.executionId });
  }

  override async *subscribeEvents(executionId: string): AsyncIterable<ExecutionEvent> {
    yield { type: 'launched', processGroup: 1 };
    yield { type: 'session_ready', acpSessionId: executionId, loaded: false, loadFailure: null, promptSent: '' };
    yield { type: 'outcome', outcome: { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null } };
    yield { type: 'gone' };
  }

  override resume(): Promise<void> {
    return Promise.resolve();
  }
  override stop(): Promise<void> {
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
