import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '..', '..', 'fixtures', 'acp');

/** Agents of the captures, by the beginning of a file's name; the longest that fits. */
const ADAPTERS: Readonly<Record<string, string>> = {
  'claude-agent-acp-latest': 'claude',
  'claude-agent-acp': 'claude',
  'claude-code-acp': 'claude',
  'codex-acp2': 'codex',
  'codex-acp': 'codex',
  opencode: 'opencode',
  gemini: 'gemini',
  copilot: 'copilot',
  auggie: 'auggie',
};
export const AGENTS = Object.keys(ADAPTERS);

export interface Frame {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly update?: Readonly<Record<string, unknown>> };
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: Readonly<Record<string, unknown>>;
}
interface Line {
  readonly dir: string;
  readonly frame?: Frame;
}

/** A run of a real agent, written down line by line. */
export class CapturedRun {
  readonly file: string;
  /** Which program it was, and what happened to it. */
  readonly agent: string;
  readonly situation: string;
  readonly adapter: string;
  private readonly lines: readonly Line[];

  constructor(readonly name: string) {
    this.file = join(FOLDER, `${name}.ndjson`);
    this.agent = AGENTS.find((one) => name.startsWith(`${one}-`))!;
    this.situation = name.slice(this.agent.length + 1);
    this.adapter = ADAPTERS[this.agent]!;
    this.lines = readFileSync(this.file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }

  /** The session that was loaded; null where a new one was made. */
  get loads(): string | null {
    const [first] = this.said.filter(({ method }) => method === 'session/new' || method === 'session/load');
    return first?.method === 'session/load' ? first.params!.sessionId! : null;
  }

  get cancels(): boolean {
    return this.said.some(({ method }) => method === 'session/cancel');
  }

  /** How its permission request was answered; null where there was none. */
  get permission(): 'allow' | 'deny' | null {
    const asked = this.heard.find(({ method }) => method === 'session/request_permission');
    if (asked === undefined) return null;
    const options = (asked.params as { options?: { optionId: string; kind: string }[] }).options ?? [];
    const answer = this.said.find(({ method, id }) => method === undefined && id === asked.id)!;
    const { optionId } = (answer.result!['outcome'] ?? {}) as { optionId?: string };
    return options.find((option) => option.optionId === optionId)!.kind.startsWith('allow') ? 'allow' : 'deny';
  }

  /** How many updates came before the client cancelled; those are waited for. */
  get updatesBeforeCancel(): number {
    const [prompt, cancel] = ['session/prompt', 'session/cancel'].map((method) =>
      this.lines.findIndex(({ dir, frame }) => dir === 'client->agent' && frame?.method === method),
    );
    return this.lines.slice(prompt, cancel).filter(({ dir, frame }) => dir === 'agent->client' && frame?.method === 'session/update')
      .length;
  }

  /** The answer to the first prompt, or to whatever was asked last before it. */
  get answer(): Frame | null {
    const asked = this.said.find(({ method }) => method === 'session/prompt') ?? this.said.findLast(({ method }) => method !== undefined)!;
    return this.heard.find(({ method, id }) => method === undefined && id === asked.id) ?? null;
  }

  private get said(): Frame[] {
    return this.framesOf('client->agent');
  }

  private get heard(): Frame[] {
    return this.framesOf('agent->client');
  }

  private framesOf(dir: string): Frame[] {
    return this.lines.filter((line) => line.dir === dir).map(({ frame }) => frame!);
  }
}

export const capturedRuns = (): CapturedRun[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.ndjson'))
    .toSorted()
    .map((name) => new CapturedRun(name.slice(0, -'.ndjson'.length)));
