import type { Logger } from '@nestjs/common';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../platform/ids.js';
import { AcpPeer, TransportClosed } from './acp/acp-peer.js';
import { Conversation } from './acp/conversation.js';
import type { AdapterProfile } from './adapters/adapter-profile.js';
import type { LaunchSpec } from './agent-runtime.js';
import { errorPayload, failurePayload, summary } from './domain/error-payload.js';
import { isRecord, readFrame, type Answer } from './domain/frame.js';
import { CANCELLED } from './domain/permission-choice.js';
import type { ProbeFindings } from './domain/probe-answer.js';
import { failed, Halt, HaltSwitch } from './halt.js';
import { prepareAgent, registerAgent, type HostParts } from './prepare-agent.js';
import { MAX_FRAME_BYTES, type AgentProcess } from './process/agent-process.js';
import { endAgent } from './process/end-agent.js';

const GRACE_MS = 1_000;

export interface Probed extends ProbeFindings {
  /** One line, when something is wrong. */
  readonly problem: string | null;
}

/** As whom a program is asked; null: as the office itself, at home. */
export type ProbeUser = { readonly uid: number; readonly gid: number } | null;

/**
 * Starts an agent to ask it who it is and to open a session, in an empty folder, and ends it. Never rejects. Nothing of it is
 * left afterwards, and no model has been asked anything.
 */
export async function probeAgent(
  profile: AdapterProfile,
  user: ProbeUser,
  ms: number,
  host: HostParts & { readonly logger: Logger },
): Promise<Probed> {
  const folder = await mkdtemp(join(tmpdir(), 'office-probe-'));
  try {
    if (user !== null) await chown(folder, user.uid, user.gid);
    return await new Probe(profile, specOf(profile, folder, user, ms), host).run();
  } catch (error) {
    return { ...NOTHING, problem: String(error) };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

const NOTHING: ProbeFindings = { initialize: null, refusal: null, opened: false, authKind: null };

const specOf = ({ id }: AdapterProfile, cwd: string, identity: ProbeUser, ms: number): LaunchSpec => ({
  executionId: newId(),
  adapter: id,
  config: { permissionPolicy: 'deny' },
  cwd,
  env: identity === null ? {} : { HOME: cwd, TMPDIR: cwd },
  prompt: { preamble: '', turn: '' },
  acpSessionId: null,
  identity,
  home: identity === null ? 'server' : 'isolated',
  limits: { startMs: ms, firstContentMs: ms, runMs: ms, graceMs: GRACE_MS, permissionMs: ms },
});

class Probe {
  private readonly halts: HaltSwitch;
  private agent: AgentProcess | null = null;
  private peer: AcpPeer | null = null;
  private authKind: string | null = null;
  private refusal: unknown = null;

  constructor(
    private readonly profile: AdapterProfile,
    private readonly spec: LaunchSpec,
    private readonly host: HostParts & { readonly logger: Logger },
  ) {
    this.halts = new HaltSwitch(host.clock);
  }

  async run(): Promise<Probed> {
    const { startMs } = this.spec.limits;
    const late = this.halts.deadline(startMs, () =>
      this.halts.trip(failed(failurePayload.startTimeout('initialize', startMs, this.agent?.stderrTail ?? ''))),
    );
    const conversation = new Conversation(this.spec, this.profile.askingMode, (method, params) => this.request(method, params));
    let initialize: ProbeFindings['initialize'] = null;
    let problem: string | null = null;
    let opened = false;
    try {
      await this.spawn();
      initialize = await conversation.initialize(this.profile.initializeMeta?.(this.spec));
      await conversation.open();
      opened = true;
    } catch (error) {
      problem = error instanceof Halt ? summary(error.payload) : String(error);
    } finally {
      late.callOff();
      await this.end();
    }
    return { initialize, refusal: this.refusal, opened, authKind: this.authKind, problem };
  }

  private async spawn(): Promise<void> {
    const listener = {
      line: (text: string) => this.hear(text),
      tooLarge: (head: string) => void this.halts.trip(failed(failurePayload.frameTooLarge(MAX_FRAME_BYTES, head))),
      end: () => undefined,
    };
    const agent = await prepareAgent(this.spec, this.profile, listener, this.host);
    this.agent = agent;
    this.peer = new AcpPeer(agent.stdin, () => Promise.resolve(CANCELLED));
    void agent.ended.then((exit) => this.halts.trip(failed(failurePayload.processExit(exit, agent.stderrTail))));
    await this.halts.guard(registerAgent(agent, this.spec, this.profile));
    agent.go();
  }

  private hear(line: string): void {
    const frame = readFrame(line, this.peer!.openId);
    if (frame.kind === 'notification') this.authKind = authKindIn(line) ?? this.authKind;
    else if (frame.kind !== 'noise') this.peer!.receive(frame);
  }

  private async request(method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> {
    const answer = await this.halts.guard(
      this.peer!.request(method, params).catch((error: unknown) => {
        if (!(error instanceof TransportClosed)) throw error;
        // How it ended says more, or the deadline does.
        return new Promise<never>(() => undefined);
      }),
    );
    if (answer.kind === 'error') this.refusal = parsed(errorPayload(answer.raw));
    return answer;
  }

  private async end(): Promise<void> {
    if (this.agent === null) return;
    await endAgent(this.agent, { open: () => 'none', cancel: () => Promise.resolve() }, GRACE_MS, this.host);
    this.peer?.close();
    this.agent.forget();
  }
}

function authKindIn(line: string): string | null {
  const { method, params } = JSON.parse(line) as { method: string; params?: unknown };
  if (method !== '_auth/status_update' || !isRecord(params) || !isRecord(params['authStatus'])) return null;
  const { kind } = params['authStatus'];
  return typeof kind === 'string' ? kind : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
