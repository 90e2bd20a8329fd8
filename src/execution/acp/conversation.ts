import { methods, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import type { LaunchSpec } from '../agent-runtime.js';
import { errorPayload, failurePayload, summary } from '../domain/error-payload.js';
import { isRecord, type Answer } from '../domain/frame.js';
import { mcpServer } from '../domain/mcp-server.js';
import { settingRequest, type SettingName } from '../domain/session-setting.js';
import { MCP_BRIDGE_ENTRY } from '../entries.js';
import { failed } from '../halt.js';

type Fields = Readonly<Record<string, unknown>>;

/** A name of the agent's making that can be kept: short, and text that PostgreSQL takes. */
const isSessionId = (value: unknown): value is string => typeof value === 'string' && /^[^\0\p{Surrogate}]{1,1024}$/u.test(value);

export interface OpenedSession {
  readonly acpSessionId: string;
  readonly loaded: boolean;
  /** Why a requested load gave a new session; null when it did not. */
  readonly loadFailure: string | null;
}

/** The steps from a started agent to one that takes prompts. A step that fails throws a `Halt` with the agent's own error. */
export class Conversation {
  private capabilities: Fields = {};

  /** `request` answers once the agent has, and rejects when the execution is halted meanwhile. */
  constructor(
    private readonly spec: LaunchSpec,
    private readonly askingMode: string | undefined,
    private readonly request: (method: string, params: Fields) => Promise<Answer>,
  ) {}

  /** Answers what the agent says of itself. */
  async initialize(meta: Fields | undefined): Promise<Fields> {
    const { value, line } = await this.demand(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'agent-office', title: 'Agent Office', version: '1' },
      ...(meta === undefined ? {} : { _meta: meta }),
    });
    const version = value['protocolVersion'];
    if (typeof version !== 'number') throw failed(failurePayload.malformedFrame(line));
    if (version !== PROTOCOL_VERSION) throw failed(failurePayload.protocolVersion(version));
    this.capabilities = isRecord(value['agentCapabilities']) ? value['agentCapabilities'] : {};
    return value;
  }

  /** Loads the session that was asked for; when the agent does not know it, or never could, makes a new one, once. */
  async open(): Promise<OpenedSession> {
    const { acpSessionId: wanted } = this.spec;
    if (wanted === null) return this.openNew(null);
    if (this.capabilities['loadSession'] !== true) return this.openNew('the agent does not offer session/load');
    const answer = await this.request(methods.agent.session.load, { sessionId: wanted, ...this.place() });
    if (answer.kind === 'error') return this.openNew(summary(errorPayload(answer.raw)));
    if (answer.kind === 'malformed') throw failed(failurePayload.malformedFrame(answer.line));
    // Most answer without an id; one that answers with another id has moved the conversation there.
    const { sessionId } = answer.value;
    const acpSessionId = isSessionId(sessionId) ? sessionId : wanted;
    await this.applySettings(acpSessionId, answer.value, 'loaded');
    return { acpSessionId, loaded: true, loadFailure: null };
  }

  private async openNew(loadFailure: string | null): Promise<OpenedSession> {
    const { value, line } = await this.demand(methods.agent.session.new, this.place());
    const { sessionId } = value;
    if (!isSessionId(sessionId)) throw failed(failurePayload.malformedFrame(line));
    await this.applySettings(sessionId, value, 'new');
    return { acpSessionId: sessionId, loaded: false, loadFailure };
  }

  /** A model or mode that is not offered fails the launch: running on another one unseen would be worse. */
  private async applySettings(sessionId: string, offer: Fields, kind: 'new' | 'loaded'): Promise<void> {
    for (const name of ['mode', 'model'] satisfies SettingName[]) {
      const chosen = this.spec.config[name];
      const wanted = chosen ?? (name === 'mode' ? this.askingMode : undefined);
      if (wanted === undefined) continue;
      const setting = settingRequest(name, wanted, offer);
      if (setting.kind === 'set') await this.demand(setting.method, { sessionId, ...setting.params });
      // A loaded session may tell nothing of its settings; it keeps those it was made with.
      const untold = kind === 'loaded' && setting.kind === 'not_offered' && setting.offered.length === 0;
      if (setting.kind === 'not_offered' && chosen !== undefined && !untold)
        throw failed(failurePayload.settingNotOffered(name, wanted, setting.offered));
    }
  }

  private place(): Fields {
    const { cwd, mcp } = this.spec;
    const takes = this.capabilities['mcpCapabilities'];
    const takesHttp = isRecord(takes) && takes['http'] === true;
    return { cwd, mcpServers: mcp === undefined ? [] : [mcpServer(mcp, takesHttp, [process.execPath, MCP_BRIDGE_ENTRY])] };
  }

  private async demand(method: string, params: Fields): Promise<Answer & { kind: 'result' }> {
    const answer = await this.request(method, params);
    if (answer.kind === 'error') throw failed(errorPayload(answer.raw));
    if (answer.kind === 'malformed') throw failed(failurePayload.malformedFrame(answer.line));
    return answer;
  }
}
