import type { McpOffer } from './domain/mcp-server.js';
import type { PermissionAbout } from './domain/permission-about.js';

export type { PermissionAbout } from './domain/permission-about.js';

/**
 * The one seam through which the office launches, watches and stops agent processes. It knows nothing of tasks, runs or
 * workspaces: ids and JSON go in, events come out. Everything about one process ends in exactly one `outcome`, then `gone`.
 */
export interface LaunchSpec {
  /** Chosen by the caller, so that it can be recorded before anything is spawned. */
  readonly executionId: string;
  readonly adapter: string;
  readonly config: LaunchConfig;
  /** Absolute, existing. A missing one is an `error` outcome of phase `spawn`, payload `{"kind":"folder_gone",...}`. */
  readonly cwd: string;
  /** Added to the allow-list (PATH, HOME, LANG, TERM, TMPDIR, proxies, what the adapter names). Nothing else is passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** `preamble` is put before `turn` whenever the ACP session is new, for whatever reason (contract 4a). */
  readonly prompt: { readonly preamble: string; readonly turn: string };
  /** The tools of the office, for an agent that takes any; left out: none. Its token is never put anywhere else. */
  readonly mcp?: McpOffer;
  /** Load this ACP session; when the agent does not know it (any more), a new one is made, once, and said so. */
  readonly acpSessionId: string | null;
  /** Run as this user and group (only when the office is root); null: as the office itself. */
  readonly identity: { readonly uid: number; readonly gid: number } | null;
  /** `isolated`: names that lead into the office's own home are not passed on. */
  readonly home: 'server' | 'isolated';
  readonly limits: ExecutionLimits;
}

export interface LaunchConfig {
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly mode?: string;
  readonly permissionPolicy: 'ask' | 'allow' | 'deny';
  /** The mock's steps (wire document, "Mock adapter"). */
  readonly script?: unknown;
}

/** All in milliseconds. */
export interface ExecutionLimits {
  /** spawn to the answer of `initialize`, and again to the answer of `session/new` or `session/load`. */
  readonly startMs: number;
  /** Prompt accepted to the first content. */
  readonly firstContentMs: number;
  /** Launch to the end of the turn. */
  readonly runMs: number;
  /** How long each of: `session/cancel`, SIGTERM gets before the next, harder means. */
  readonly graceMs: number;
  readonly permissionMs: number;
}

export interface ExecutionRef {
  readonly executionId: string;
}

/** Which tools an execution is offered: all that its run may use, those of its own task, or none. */
export const MCP_MODES = ['office', 'task', 'none'] as const;
export type McpMode = (typeof MCP_MODES)[number];
export type ExecutionState = 'starting' | 'prompting' | 'idle' | 'stopping' | 'gone';
export type Phase = 'spawn' | 'initialize' | 'session' | 'prompt';

export interface Execution {
  readonly executionId: string;
  readonly adapter: string;
  readonly state: ExecutionState;
  readonly processGroup: number | null;
  readonly acpSessionId: string | null;
  readonly mcpMode: McpMode;
  readonly lastContentAt: Date | null;
  readonly currentTool: string | null;
  /** It has asked for a permission and waits for the answer. */
  readonly awaitsPermission: boolean;
}

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly totalTokens: number | null;
  /** Of this turn, where the agent tells. */
  readonly cost?: Cost;
}

export interface Cost {
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** What is known about an invocation that failed; `unknown` is never read as "no". */
export interface Evidence {
  readonly executionId: string;
  readonly acpSessionId: string | null;
  readonly phase: Phase;
  readonly outputSeen: boolean;
  readonly effectSeen: boolean;
  readonly exit: { readonly code: number | null; readonly signal: string | null } | null;
  /** At most 64 KiB, storable text. */
  readonly stderrTail: string;
  /** The last lines of its stdout that were no protocol; at most 16 KiB, storable text. */
  readonly stdoutNoise: string;
  /** What its adapter read from a turn that failed in disguise (contract 5, tell-tales): structured fields, perhaps none. */
  readonly record: Readonly<Record<string, unknown>> | null;
}

export type Outcome =
  | { readonly kind: 'turn_ended'; readonly stopReason: TurnEnd; readonly usage: Usage | null; readonly lastMessage: string | null }
  /** The process was stopped because `stop` was called; whatever it answered is no success. Told when its group is gone. */
  | { readonly kind: 'stopped'; readonly reason: string; readonly usage?: Usage | null }
  | { readonly kind: 'error'; readonly payload: string; readonly evidence: Evidence; readonly usage?: Usage | null }
  | { readonly kind: 'timed_out'; readonly payload: string; readonly evidence: Evidence; readonly usage?: Usage | null };

export const TURN_ENDS = ['end_turn', 'max_tokens', 'max_turn_requests'] as const;
export type TurnEnd = (typeof TURN_ENDS)[number];

export type ExecutionEvent =
  | { readonly type: 'launched'; readonly processGroup: number }
  /** The ACP session is there and the prompt is about to be sent; `loadFailure` is why a requested load gave a new one. */
  | {
      readonly type: 'session_ready';
      readonly acpSessionId: string;
      readonly loaded: boolean;
      readonly loadFailure: string | null;
      readonly promptSent: string;
    }
  /** One ACP `session/update` of ours as it came, and whether it is content (contract 5). History replayed by a load is not told. */
  | { readonly type: 'update'; readonly content: boolean; readonly update: Readonly<Record<string, unknown>> }
  | {
      readonly type: 'permission_requested';
      readonly requestId: string;
      readonly request: Readonly<Record<string, unknown>>;
      readonly about: PermissionAbout;
      /** False: it is answered at once, without a person. */
      readonly waits: boolean;
    }
  | { readonly type: 'permission_answered'; readonly requestId: string; readonly decision: PermissionDecision }
  | { readonly type: 'mcp_mode_changed'; readonly mode: McpMode }
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  /** No process of the group is left. Always the last event. */
  | { readonly type: 'gone' };

export type PermissionDecision = 'allow_once' | 'allow_always' | 'deny';

/** Thrown when an id names no execution of this server, or one that is not in a state for what was asked. */
export class ExecutionError extends Error {
  constructor(
    readonly code: 'execution_not_found' | 'execution_not_idle' | 'execution_exists' | 'adapter_unknown' | 'permission_not_found',
    readonly executionId: string,
  ) {
    super(`${code}: ${executionId}`);
    this.name = 'ExecutionError';
  }
}

export abstract class AgentRuntime {
  /** Returns once the execution is known to this server (subscribe now and miss nothing); all else is told by events. */
  abstract launch(spec: LaunchSpec): Promise<ExecutionRef>;
  /** Sends another turn to an execution that ended one and is still alive (`idle`). Its end is a further `outcome`. */
  abstract resume(executionId: string, turn: string): Promise<void>;
  /**
   * Asks politely, then not (contract 5, "Stopping"). Idle: stdin EOF first. Resolves when no process of the group is left.
   * Safe to repeat; of an unknown id it is a no-op.
   */
  abstract stop(executionId: string, reason: string): Promise<void>;
  abstract getExecution(executionId: string): Execution | null;
  /** Everything this execution tells, from its beginning, in order; ends after `gone`. Slow readers hold the agent back, nothing is dropped. */
  abstract subscribeEvents(executionId: string): AsyncIterable<ExecutionEvent>;
  abstract setMcpMode(executionId: string, mode: McpMode): Promise<void>;
  abstract answerPermission(executionId: string, requestId: string, decision: PermissionDecision): Promise<void>;
  abstract executions(): readonly Execution[];
}
