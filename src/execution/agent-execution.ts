import { methods } from '@agentclientprotocol/sdk';
import type { Logger } from '@nestjs/common';
import { statSync } from 'node:fs';
import type { Clock } from '../platform/clock/clock.js';
import { AcpPeer, TransportClosed } from './acp/acp-peer.js';
import { Conversation } from './acp/conversation.js';
import type { AdapterRegistry } from './adapter-registry.service.js';
import type { AdapterProfile } from './adapters/adapter-profile.js';
import {
  ExecutionError,
  type Evidence,
  type Execution,
  type ExecutionEvent,
  type ExecutionState,
  type LaunchSpec,
  type McpMode,
  type Outcome,
  type PermissionDecision,
  type Phase,
} from './agent-runtime.js';
import { Deadline } from './deadline.js';
import { agentEnvironment } from './domain/agent-environment.js';
import { isContent } from './domain/content.js';
import { errorPayload, failurePayload } from './domain/error-payload.js';
import { readFrame, type Answer, type Frame } from './domain/frame.js';
import type { OpenRequest } from './domain/stop-ladder.js';
import { TurnRecord } from './domain/turn-record.js';
import { judgeTurn } from './domain/turn-verdict.js';
import { EventLog } from './event-log.js';
import { failed, Halt } from './halt.js';
import { PermissionDesk } from './permission-desk.js';
import { AgentProcess, MAX_FRAME_BYTES } from './process/agent-process.js';
import { endAgent } from './process/end-agent.js';
import type { ProcessSupervision } from './supervisor/process-supervision.service.js';

/** Beyond this much that nobody has read, the agent's output is left in its pipe; below half of it, it is read again. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** An agent that closed its stdout without ending gets this long to end. */
const DEAF_MS = 1_000;
/** Whoever keeps an agent for another turn takes it up before this. */
const IDLE_MS = 600_000;

export interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly adapters: AdapterRegistry;
  readonly supervision: ProcessSupervision;
  /** Everything was told and read. */
  spent(): void;
}

/** The life of one agent process, from its launch to the last of its descendants. */
export class AgentExecution {
  readonly log: EventLog;
  /** Resolves when no process of it is left. */
  readonly gone: Promise<void>;
  private state: ExecutionState = 'starting';
  private phase: Phase = 'spawn';
  private process: AgentProcess | null = null;
  private peer: AcpPeer | null = null;
  private conversed = false;
  private acpSessionId: string | null;
  private mcpMode: McpMode = 'none';
  private lastContentAt: Date | null = null;
  /** Of the turn that is open, or was last. */
  private turn: TurnRecord | null = null;
  private turnOpen = false;
  /** An error frame that answered nothing, until something else is said: a dying agent's last word. */
  private stray: string | null = null;
  private halted: Halt | null = null;
  private readonly halting: Promise<never>;
  private interrupt!: (halt: Halt) => void;
  private vanish!: () => void;
  private running = false;
  private prompted: Promise<unknown> = Promise.resolve();
  private idle: { cancel(): void } | null = null;
  private readonly deadlines = new Set<Deadline>();
  private readonly desk: PermissionDesk;

  constructor(
    private readonly spec: LaunchSpec,
    private readonly adapter: AdapterProfile,
    private readonly around: Surroundings,
  ) {
    this.acpSessionId = spec.acpSessionId;
    this.log = new EventLog(() => this.readOn());
    this.gone = new Promise((resolve) => (this.vanish = resolve));
    this.halting = new Promise((_resolve, reject) => (this.interrupt = reject));
    this.halting.catch(() => undefined);
    this.desk = new PermissionDesk(spec.config.permissionPolicy, spec.limits.permissionMs, around.clock, {
      tell: (event, bytes) => this.tell(event, bytes),
      waiting: (now) => this.deadlines.forEach((deadline) => (now ? deadline.pause() : deadline.resume())),
      refused: () => this.turn && (this.turn.permissionRefused = true),
    });
  }

  view(): Execution {
    return {
      executionId: this.spec.executionId,
      adapter: this.spec.adapter,
      state: this.state,
      processGroup: this.process?.tree.group ?? null,
      acpSessionId: this.acpSessionId,
      mcpMode: this.mcpMode,
      lastContentAt: this.lastContentAt,
      currentTool: this.turnOpen ? (this.turn?.currentTool ?? null) : null,
    };
  }

  /** From nothing to the end of the first turn, or to the end of all. */
  start(): void {
    void this.run(async () => {
      const { startMs } = this.spec.limits;
      await this.within('initialize', startMs, async (conversation) => {
        await this.spawn();
        this.phase = 'initialize';
        await conversation.initialize(this.adapter.initializeMeta?.(this.spec));
        this.conversed = true;
      });
      this.phase = 'session';
      const opened = await this.within('session', startMs, (conversation) => conversation.open());
      this.acpSessionId = opened.acpSessionId;
      // What the agent said up to here is its own history, also what is only now taken from its pipe.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      const { preamble, turn } = this.spec.prompt;
      const text = opened.loaded || preamble === '' ? turn : `${preamble}\n\n${turn}`;
      this.tell({ type: 'session_ready', ...opened, promptSent: text });
      await this.take(text);
    });
  }

  resume(turn: string): void {
    if (this.state !== 'idle') throw new ExecutionError('execution_not_idle', this.spec.executionId);
    void this.run(() => this.take(turn));
  }

  /** Resolves when all is gone. Only the first reason counts, and none after a failure. */
  stop(reason: string): Promise<void> {
    this.halt(new Halt('stopped', reason));
    return this.gone;
  }

  setMcpMode(mode: McpMode): void {
    this.mcpMode = mode;
    this.tell({ type: 'mcp_mode_changed', mode });
  }

  answerPermission(requestId: string, decision: PermissionDecision): void {
    if (!this.desk.answer(requestId, decision)) throw new ExecutionError('permission_not_found', this.spec.executionId);
  }

  /** Runs one turn to its outcome. Whatever goes wrong in it, ours included, is an outcome and the end of the process. */
  private async run(work: () => Promise<void>): Promise<void> {
    const { clock } = this.around;
    const { runMs } = this.spec.limits;
    this.running = true;
    this.idle?.cancel();
    const late = clock.after(runMs, () =>
      this.halt(new Halt('timed_out', failurePayload.runTimeout(runMs, this.process?.stderrTail ?? ''))),
    );
    try {
      if (this.halted !== null) throw this.halted;
      await work();
      this.running = false;
      if (this.halted === null) this.idle = clock.after(IDLE_MS, () => void this.stop('idle'));
      else await this.finish();
    } catch (error) {
      const halt = this.asHalt(error);
      this.halted ??= halt;
      this.turnOpen = halt.kind === 'stopped' && this.turnOpen;
      if (halt.kind !== 'stopped') this.tell({ type: 'outcome', outcome: this.failure(halt, halt.kind) });
      await this.finish(halt.kind === 'stopped' ? { kind: 'stopped', reason: halt.payload } : undefined);
    } finally {
      late.cancel();
    }
  }

  private async take(text: string): Promise<void> {
    const { firstContentMs } = this.spec.limits;
    this.phase = 'prompt';
    this.state = 'prompting';
    this.turn = new TurnRecord(this.adapter.notices);
    this.turnOpen = true;
    const silence = this.deadline(firstContentMs, () => failurePayload.noFirstEvent(firstContentMs, this.process!.stderrTail));
    const prompt = { sessionId: this.acpSessionId, prompt: [{ type: 'text', text }] };
    const answer = await this.request(methods.agent.session.prompt, prompt).finally(() => this.lift(silence));
    const verdict = judgeTurn(answer, this.turn, this.adapter);
    if (verdict.kind === 'failed') throw new Halt('failed', verdict.payload, verdict.excused, verdict.record);
    this.turnOpen = false;
    this.state = 'idle';
    const { stopReason, usage, lastMessage } = verdict;
    this.tell({ type: 'outcome', outcome: { kind: 'turn_ended', stopReason, usage, lastMessage } });
    this.desk.close();
  }

  private async spawn(): Promise<void> {
    const { spec, adapter } = this;
    const { clock, adapters, supervision } = this.around;
    if (!isFolder(spec.cwd)) throw failed(failurePayload.folderGone(spec.cwd));
    const env = agentEnvironment(process.env, adapter, spec.config.env ?? {}, spec.env, spec.executionId);
    const command = adapters.command(adapter, spec.config, env['PATH']);
    const asked = spec.config.command ?? adapter.commands[0] ?? [];
    if ('problem' in command) throw failed(failurePayload.spawnFailed(asked, command.problem));
    const program = { argv: command.argv, cwd: spec.cwd, env, identity: spec.identity };
    const listener = {
      line: (text: string, bytes: number) => this.hear(text, bytes),
      tooLarge: (head: string) => this.halt(failed(failurePayload.frameTooLarge(MAX_FRAME_BYTES, head))),
      end: () => this.heedSilence(),
    };
    try {
      this.process = await AgentProcess.prepare(program, spec.executionId, listener, clock, supervision);
    } catch (error) {
      throw failed(isFolder(spec.cwd) ? failurePayload.spawnFailed(asked, String(error)) : failurePayload.folderGone(spec.cwd));
    }
    const agent = this.process;
    this.peer = new AcpPeer(agent.stdin, (request, withdrawn) => this.askPermission(request, withdrawn));
    void agent.ended.then((exit) => this.halt(failed(this.stray ?? failurePayload.processExit(exit, agent.stderrTail))));
    await this.orHalt(
      agent.register().catch((error: unknown) => {
        throw failed(failurePayload.spawnFailed(asked, String(error)));
      }),
    );
    agent.go();
    this.tell({ type: 'launched', processGroup: agent.tree.group });
  }

  /** One line of the agent's stdout. */
  private hear(text: string, bytes: number): void {
    const agent = this.process!;
    const frame = readFrame(text, this.peer!.openId);
    if (frame.kind === 'noise') {
      if (text.trim() !== '') agent.keepNoise(text);
      return;
    }
    this.stray = frame.kind === 'stray_error' ? errorPayload(frame.raw) : null;
    if (frame.kind === 'update') return this.heed(frame, bytes);
    if (this.peer!.receive(frame)) {
      // What stands behind an answer is dealt with after the answer has been.
      agent.lines.hold('answer');
      setImmediate(() => agent.lines.release('answer'));
    }
    agent.heedUnsent();
  }

  private heed({ sessionId, update }: Frame & { kind: 'update' }, bytes: number): void {
    if (!this.turnOpen || (sessionId !== null && sessionId !== this.acpSessionId)) return;
    this.turn!.take(update, bytes);
    const content = isContent(update);
    if (content) this.noteContent();
    this.tell({ type: 'update', content, update }, bytes);
  }

  private async askPermission(request: Readonly<Record<string, unknown>>, withdrawn: AbortSignal) {
    if (this.turnOpen) {
      this.turn!.takePermission();
      this.noteContent();
    }
    return this.desk.ask(request, JSON.stringify(request).length, withdrawn);
  }

  private noteContent(): void {
    this.lastContentAt = this.around.clock.now();
    for (const deadline of this.deadlines) this.lift(deadline);
  }

  private heedSilence(): void {
    const agent = this.process!;
    this.around.clock.after(DEAF_MS, () => {
      if (agent.exit === null) this.halt(failed(failurePayload.transportClosed(agent.stderrTail)));
    });
  }

  /** The first halt counts. Between turns there is nobody to tell, only a process to end. */
  private halt(halt: Halt): void {
    if (this.halted !== null) return;
    this.halted = halt;
    this.interrupt(halt);
    if (!this.running) void this.finish();
  }

  private async finish(last?: Outcome): Promise<void> {
    this.state = 'stopping';
    this.idle?.cancel();
    for (const deadline of this.deadlines) this.lift(deadline);
    try {
      if (this.process !== null) await endAgent(this.process, this, this.spec.limits.graceMs, this.around.clock);
    } catch (error) {
      // Said, because it must not happen; the supervisor still watches what we could not end.
      this.around.logger.error({ err: error, execution_id: this.spec.executionId }, 'agent could not be ended');
      throw error;
    }
    this.turnOpen = false;
    this.desk.close();
    this.peer?.close();
    this.process?.forget();
    if (last !== undefined) this.tell({ type: 'outcome', outcome: last });
    this.state = 'gone';
    this.tell({ type: 'gone' });
    this.log.close();
    this.vanish();
  }

  /** What the agent owes us; asked while it is being ended. */
  open(): OpenRequest {
    if (!this.conversed) return 'start';
    if (this.peer!.openId === null) return 'none';
    return this.phase === 'prompt' ? 'prompt' : 'start';
  }

  /** Asks the agent to end its turn; its open questions are withdrawn with it. */
  cancel(): Promise<unknown> {
    this.peer!.notify(methods.agent.session.cancel, { sessionId: this.acpSessionId });
    this.desk.close();
    return this.prompted;
  }

  private request(method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> {
    const answer = this.peer!.request(method, params);
    this.prompted = answer.catch(() => undefined);
    return this.orHalt(
      answer.catch((error: unknown) => {
        // Why it cannot be reached is known in a moment, by its exit or by its silence.
        if (error instanceof TransportClosed) return this.halting;
        throw error;
      }),
    );
  }

  private orHalt<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.halting]);
  }

  private async within<T>(phase: 'initialize' | 'session', ms: number, work: (conversation: Conversation) => Promise<T>): Promise<T> {
    const deadline = this.deadline(ms, () => failurePayload.startTimeout(phase, ms, this.process?.stderrTail ?? ''));
    const conversation = (this.conversation ??= new Conversation(this.spec, (method, params) => this.request(method, params)));
    return work(conversation).finally(() => this.lift(deadline));
  }
  private conversation: Conversation | null = null;

  private deadline(ms: number, payload: () => string): Deadline {
    const deadline = new Deadline(this.around.clock, ms, () => this.halt(failed(payload())));
    this.deadlines.add(deadline);
    return deadline;
  }

  private lift(deadline: Deadline): void {
    deadline.cancel();
    this.deadlines.delete(deadline);
  }

  private failure(halt: Halt, kind: 'failed' | 'timed_out'): Outcome {
    return { kind: kind === 'failed' ? 'error' : 'timed_out', payload: halt.payload, evidence: this.evidence(halt) };
  }

  private evidence(halt: Halt): Evidence {
    return {
      executionId: this.spec.executionId,
      acpSessionId: this.acpSessionId,
      phase: this.phase,
      outputSeen: this.turn?.outputSeen(halt.excused) ?? false,
      effectSeen: this.turn?.effectSeen ?? false,
      exit: this.process?.exit ?? null,
      stderrTail: this.process?.stderrTail ?? '',
      stdoutNoise: this.process?.stdoutNoise ?? '',
      record: halt.record?.fields ?? null,
    };
  }

  private asHalt(error: unknown): Halt {
    if (error instanceof Halt) return error;
    this.around.logger.error({ err: error, execution_id: this.spec.executionId }, 'execution broke');
    return failed(failurePayload.internal(String(error)));
  }

  private tell(event: ExecutionEvent, bytes = 0): void {
    this.log.append(event, bytes);
    if (this.log.unread > MAX_UNREAD_BYTES) this.process?.lines.hold('reader');
  }

  private readOn(): void {
    if (this.log.unread <= MAX_UNREAD_BYTES / 2) this.process?.lines.release('reader');
    if (this.log.spent) this.around.spent();
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
