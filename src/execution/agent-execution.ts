import { methods } from '@agentclientprotocol/sdk';
import type { Logger } from '@nestjs/common';
import { storableText } from '../platform/text/storable.js';
import { AcpPeer, TransportClosed } from './acp/acp-peer.js';
import { Conversation } from './acp/conversation.js';
import type { AdapterProfile } from './adapters/adapter-profile.js';
import { ExecutionError } from './agent-runtime.js';
import type {
  Evidence,
  Execution,
  ExecutionEvent,
  ExecutionState,
  LaunchSpec,
  McpMode,
  Outcome,
  PermissionDecision,
  Phase,
} from './agent-runtime.js';
import { isContent } from './domain/content.js';
import { errorPayload, failurePayload } from './domain/error-payload.js';
import { readFrame, type Answer, type Frame } from './domain/frame.js';
import type { OpenRequest } from './domain/stop-ladder.js';
import { TurnRecord } from './domain/turn-record.js';
import { judgeTurn } from './domain/turn-verdict.js';
import { EventLog } from './event-log.js';
import { failed, Halt, HaltSwitch } from './halt.js';
import { PermissionDesk } from './permission-desk.js';
import { prepareAgent, registerAgent, type HostParts } from './prepare-agent.js';
import { MAX_FRAME_BYTES, type AgentProcess } from './process/agent-process.js';
import { endAgent } from './process/end-agent.js';
import { UsageMeter } from './usage-meter.js';

/** Beyond this much that nobody has read, the agent's output is left in its pipe; below half of it, it is read again. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** An agent that can no longer be heard without having ended gets this long to end. */
const DEAF_MS = 1_000;
/** Whoever keeps an agent for another turn takes it up before this. */
const IDLE_MS = 600_000;

export interface Surroundings extends HostParts {
  readonly logger: Logger;
  /** Everything was told and read. */
  spent(): void;
}

/** The life of one agent process, from its launch to the last of its descendants. */
export class AgentExecution {
  readonly log = new EventLog(() => this.readOn());
  /** Resolves when no process of it is left. */
  readonly gone: Promise<void>;
  private vanish!: () => void;
  private state: ExecutionState = 'starting';
  private phase: Phase = 'spawn';
  private agent: AgentProcess | null = null;
  private peer: AcpPeer | null = null;
  private speaking = false;
  private acpSessionId: string | null;
  private mcpMode: McpMode;
  private lastContentAt: Date | null = null;
  /** Of the turn that is open, or was last. */
  private turn: TurnRecord | null = null;
  /** What the agent says now belongs to a turn whose outcome has not been told. */
  private listening = false;
  private readonly meter = new UsageMeter();
  private silence: { callOff(): void } | null = null;
  /** An error frame that answered nothing, until something else is said: a dying agent's last word. */
  private stray: string | null = null;
  /** Between the start of a turn (or the launch) and its outcome. */
  private busy = false;
  private idle: { cancel(): void } | null = null;
  private answered: Promise<unknown> = Promise.resolve();
  private readonly halts: HaltSwitch;
  private readonly desk: PermissionDesk;

  constructor(
    private readonly spec: LaunchSpec,
    private readonly adapter: AdapterProfile,
    private readonly around: Surroundings,
  ) {
    this.acpSessionId = spec.acpSessionId;
    this.mcpMode = spec.mcp === undefined ? 'none' : 'office';
    this.gone = new Promise((resolve) => (this.vanish = resolve));
    this.halts = new HaltSwitch(around.clock);
    this.desk = new PermissionDesk(spec.config.permissionPolicy, adapter.incidentalInput, spec.limits.permissionMs, around.clock, {
      tell: (event, bytes) => this.tell(event, bytes),
      waiting: (now) => this.halts.pause(now),
      refused: () => this.turn && (this.turn.permissionRefused = true),
    });
  }

  view(): Execution {
    return {
      executionId: this.spec.executionId,
      adapter: this.spec.adapter,
      state: this.state,
      processGroup: this.agent?.tree.group ?? null,
      acpSessionId: this.acpSessionId,
      mcpMode: this.mcpMode,
      lastContentAt: this.lastContentAt,
      currentTool: this.listening ? (this.turn?.currentTool ?? null) : null,
      awaitsPermission: this.desk.waits,
    };
  }

  /** From nothing to the outcome of the first turn. */
  start(): void {
    void this.run(async () => this.take(await this.launch()));
  }

  resume(turn: string): void {
    if (this.state !== 'idle') throw new ExecutionError('execution_not_idle', this.spec.executionId);
    void this.run(() => this.take(storableText(turn)));
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

  /** One turn, to its outcome. Whatever goes wrong in it, our own faults included, is an outcome and the end of the process. */
  private async run(work: () => Promise<void>): Promise<void> {
    const { clock } = this.around;
    const { runMs } = this.spec.limits;
    this.busy = true;
    this.idle?.cancel();
    const late = clock.after(runMs, () => this.halt(new Halt('timed_out', failurePayload.runTimeout(runMs, this.stderrTail))));
    try {
      await work();
      this.busy = false;
      if (this.halts.halt !== null) await this.finish();
      else this.idle = clock.after(IDLE_MS, () => void this.stop('idle'));
    } catch (error) {
      const halt = this.asHalt(error);
      this.halts.trip(halt);
      await this.conclude(halt);
    } finally {
      late.cancel();
    }
  }

  /** A stopped turn is told when its processes are gone, until when its agent is listened to; a failed one at once. */
  private async conclude(halt: Halt): Promise<void> {
    if (halt.kind === 'stopped') return this.finish({ kind: 'stopped', reason: halt.payload, ...this.meter.part });
    this.listening = false;
    const { payload } = halt;
    const evidence = this.evidence(halt);
    const kind = halt.kind === 'failed' ? 'error' : 'timed_out';
    this.tell({ type: 'outcome', outcome: { kind, payload, evidence, ...this.meter.part } });
    return this.finish();
  }

  /** From nothing to an open session; answers the text of the first prompt. */
  private async launch(): Promise<string> {
    const conversation = new Conversation(this.spec, this.adapter.askingMode, (method, params) => this.request(method, params));
    await this.within('initialize', async () => {
      await this.spawn();
      this.phase = 'initialize';
      await conversation.initialize(this.adapter.initializeMeta?.(this.spec));
      this.speaking = true;
    });
    this.phase = 'session';
    const opened = await this.within('session', () => conversation.open());
    this.acpSessionId = opened.acpSessionId;
    // What the agent said up to here is its own history, also what is only now taken from its pipe.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const { preamble, turn } = this.spec.prompt;
    const promptSent = storableText(opened.loaded || preamble === '' ? turn : `${preamble}\n\n${turn}`);
    this.tell({ type: 'session_ready', ...opened, promptSent });
    return promptSent;
  }

  private async spawn(): Promise<void> {
    const listener = {
      line: (text: string, bytes: number) => this.hear(text, bytes),
      tooLarge: (head: string) => this.halt(failed(failurePayload.frameTooLarge(MAX_FRAME_BYTES, head))),
      end: () => this.expectEnd(),
    };
    const agent = await prepareAgent(this.spec, this.adapter, listener, this.around);
    this.agent = agent;
    this.peer = new AcpPeer(agent.stdin, (request, withdrawn) => this.askPermission(request, withdrawn));
    void agent.ended.then((exit) => this.halt(failed(this.stray ?? failurePayload.processExit(exit, agent.stderrTail))));
    await this.halts.guard(registerAgent(agent, this.spec, this.adapter));
    agent.go();
    this.tell({ type: 'launched', processGroup: agent.tree.group });
  }

  /** One prompt, to its outcome. Its text is well-formed: some agents cannot read half a character, and never answer. */
  private async take(text: string): Promise<void> {
    const { firstContentMs } = this.spec.limits;
    this.phase = 'prompt';
    this.state = 'prompting';
    this.turn = new TurnRecord(this.adapter.notices);
    this.listening = true;
    this.meter.begin();
    this.silence = this.halts.deadline(firstContentMs, () =>
      this.halt(failed(failurePayload.noFirstEvent(firstContentMs, this.stderrTail))),
    );
    const prompt = { sessionId: this.acpSessionId, prompt: [{ type: 'text', text }] };
    const answer = await this.request(methods.agent.session.prompt, prompt).finally(() => this.silence?.callOff());
    this.meter.answered(answer);
    const verdict = judgeTurn(answer, this.turn, this.adapter);
    if (verdict.kind === 'failed') throw new Halt('failed', verdict.payload, verdict.excused, verdict.record);
    this.listening = false;
    this.desk.close();
    this.state = 'idle';
    const { stopReason, lastMessage } = verdict;
    this.tell({ type: 'outcome', outcome: { kind: 'turn_ended', stopReason, usage: this.meter.usage, lastMessage } });
  }

  /** One line of the agent's stdout. */
  private hear(text: string, bytes: number): void {
    const agent = this.agent!;
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
    this.meter.hear(update);
    if (!this.listening || (sessionId !== null && sessionId !== this.acpSessionId)) return;
    if (this.turn!.take(update, bytes)) this.noteContent();
    this.tell({ type: 'update', content: isContent(update), update }, bytes);
  }

  private askPermission(request: Readonly<Record<string, unknown>>, withdrawn: AbortSignal): ReturnType<PermissionDesk['ask']> {
    if (this.listening) {
      this.turn!.takePermission();
      this.noteContent();
    }
    return this.desk.ask(request, JSON.stringify(request).length, withdrawn);
  }

  private noteContent(): void {
    this.lastContentAt = this.around.clock.now();
    this.silence?.callOff();
  }

  /** The agent can no longer be heard. How it ended says more, if it ends. */
  private expectEnd(): void {
    this.around.clock.after(DEAF_MS, () => {
      if (this.agent?.exit === null) this.halt(failed(failurePayload.transportClosed(this.stderrTail)));
    });
  }

  /** Between turns there is nobody to tell, only a process to end. */
  private halt(halt: Halt): void {
    if (this.halts.trip(halt) && !this.busy) void this.finish();
  }

  private async finish(outcome?: Outcome): Promise<void> {
    this.state = 'stopping';
    this.idle?.cancel();
    const talk = { open: () => this.openRequest(), cancel: () => this.cancel() };
    if (this.agent !== null) await endAgent(this.agent, talk, this.spec.limits.graceMs, this.around);
    this.listening = false;
    this.desk.close();
    this.peer?.close();
    this.agent?.forget();
    if (outcome !== undefined) this.tell({ type: 'outcome', outcome });
    this.state = 'gone';
    this.tell({ type: 'gone' });
    this.log.close();
    this.vanish();
  }

  private openRequest(): OpenRequest {
    if (!this.speaking) return 'start';
    if (this.peer!.openId === null) return 'none';
    return this.phase === 'prompt' ? 'prompt' : 'start';
  }

  /** Asks the agent to end its turn; its open questions are withdrawn with it. */
  private cancel(): Promise<unknown> {
    this.peer!.notify(methods.agent.session.cancel, { sessionId: this.acpSessionId });
    this.desk.close();
    return this.answered;
  }

  private request(method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> {
    const answer = this.peer!.request(method, params);
    this.answered = answer.catch(() => undefined);
    const answerOrHalt = answer.catch((error: unknown) => {
      if (!(error instanceof TransportClosed)) throw error;
      this.expectEnd();
      return new Promise<never>(() => undefined);
    });
    return this.halts.guard(answerOrHalt);
  }

  private async within<T>(phase: 'initialize' | 'session', work: () => Promise<T>): Promise<T> {
    const { startMs } = this.spec.limits;
    const deadline = this.halts.deadline(startMs, () => this.halt(failed(failurePayload.startTimeout(phase, startMs, this.stderrTail))));
    return work().finally(() => deadline.callOff());
  }

  private get stderrTail(): string {
    return this.agent?.stderrTail ?? '';
  }

  private evidence(halt: Halt): Evidence {
    return {
      executionId: this.spec.executionId,
      acpSessionId: this.acpSessionId,
      phase: this.phase,
      outputSeen: this.turn?.outputSeen(halt.excused) ?? false,
      effectSeen: this.turn?.effectSeen ?? false,
      exit: this.agent?.exit ?? null,
      stderrTail: this.stderrTail,
      stdoutNoise: this.agent?.stdoutNoise ?? '',
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
    if (this.log.unread > MAX_UNREAD_BYTES) this.agent?.lines.hold('reader');
  }

  private readOn(): void {
    if (this.log.unread <= MAX_UNREAD_BYTES / 2) this.agent?.lines.release('reader');
    if (this.log.spent) this.around.spent();
  }
}
