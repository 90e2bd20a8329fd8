import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { AgentView } from '../../src/agents/agent.view.js';
import type { RunEventView, RunRowView, RunView } from '../../src/runs/run.view.js';
import type { SessionView } from '../../src/sessions/session.view.js';
import type { CommentView } from '../../src/tasks/comment.view.js';
import { processesWith, waitFor, type RealServer } from '../support/real-server.js';
import { ModelServer } from './model-server.js';

const HERE = import.meta.dirname;
const CODEX = join(HERE, 'node_modules', '.bin', 'codex-acp');
const RECORDER = join(HERE, 'recorded-agent.sh');

const IN_FLIGHT = ['queued', 'scheduled_retry', 'running'];
const RUN_MS = 40_000;

export interface CodexOptions {
  readonly policy?: 'allow' | 'deny';
  readonly threshold?: number;
  /** Keeps what it hears and says. What a signal does to its process is then told by the recorder's end, not by its own. */
  readonly recorded?: boolean;
  /** False: it has never been told of any model. */
  readonly loggedIn?: boolean;
}

interface Frame {
  readonly method?: string;
  readonly params?: { readonly sessionId?: string };
}

/** A real Codex hired into a workspace of its own, with a home of its own and a model of its own. */
export class CodexDesk {
  /** Everything Codex keeps: its configuration, its conversations. */
  private readonly home = mkdtempSync(join(tmpdir(), 'office-codex-'));
  /** In the environment of all its processes. */
  private readonly mark = randomUUID();
  private workspaceId = '';
  private agentId = '';

  private constructor(
    private readonly server: RealServer,
    readonly model: ModelServer,
  ) {}

  static async open(server: RealServer, options: CodexOptions = {}): Promise<CodexDesk> {
    const desk = new CodexDesk(server, await ModelServer.open());
    await desk.hire(options);
    return desk;
  }

  private async hire({ policy = 'deny', threshold, recorded = false, loggedIn = true }: CodexOptions): Promise<void> {
    const codexHome = join(this.home, 'codex');
    mkdirSync(codexHome);
    // Where the office is root its agents are somebody else.
    for (const folder of [this.home, codexHome]) chmodSync(folder, 0o777);
    if (loggedIn) writeFileSync(join(codexHome, 'config.toml'), configuration(this.model.url));
    const { id } = await this.server.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
    this.workspaceId = id;
    const agent = await this.server.must<AgentView>(`POST /workspaces/${id}/agents`, {
      name: 'Codex',
      role: 'worker',
      adapter: 'codex',
      adapter_config: {
        command: recorded ? ['/bin/sh', RECORDER, this.home, CODEX] : [CODEX],
        env: { HOME: this.home, CODEX_HOME: codexHome, FAKE_API_KEY: 'sk-bogus', CODEX_DESK: this.mark },
        permission_policy: policy,
      },
      ...(threshold === undefined ? {} : { failure_threshold: threshold }),
    });
    this.agentId = agent.id;
  }

  /** A new task for it, which wakes it. */
  async assign(title: string): Promise<Assignment> {
    const task = await this.server.must<{ id: string }>(`POST /workspaces/${this.workspaceId}/tasks`, {
      title,
      assignee_agent_instance_id: this.agentId,
    });
    return new Assignment(this.server, this.workspaceId, task.id);
  }

  agent(): Promise<AgentView> {
    return this.server.must<AgentView>(`GET /agents/${this.agentId}`);
  }

  unpause(): Promise<AgentView> {
    return this.server.must<AgentView>(`POST /agents/${this.agentId}/unpause`);
  }

  /** As if somebody had tidied up its home. */
  loseConversations(): void {
    rmSync(join(this.home, 'codex', 'sessions'), { recursive: true });
  }

  /** Its live processes, those of its commands included; or those of them that run `program`. */
  processes(program?: string): number[] {
    const all = processesWith(`CODEX_DESK=${this.mark}`);
    return program === undefined ? all : all.filter((pid) => basename(programOf(pid)) === program);
  }

  async noProcessLeft(): Promise<void> {
    await waitFor(() => this.processes().length === 0, 5_000, 'its processes to be gone');
  }

  /** It has asked the model for the `n`th time. */
  async asked(n = 1): Promise<void> {
    await waitFor(() => this.model.requests.length >= n, RUN_MS, `request ${n} to the model`);
  }

  /** The frames the office sent it, over all its processes. */
  heard(): Frame[] {
    return linesOf(join(this.home, 'heard.ndjson')).map((line) => JSON.parse(line) as Frame);
  }

  /** Its lines, as it wrote them. */
  said(): string[] {
    return linesOf(join(this.home, 'said.ndjson'));
  }

  /** What its last process was given. */
  environment(): Record<string, string> {
    const text = readFileSync(join(this.home, 'environment'), 'utf8');
    const entries = text.split('\0').filter((entry) => entry !== '');
    return Object.fromEntries(entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
  }

  async close(): Promise<void> {
    await this.model.close();
    await this.noProcessLeft();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A task in its hands. */
export class Assignment {
  constructor(
    private readonly server: RealServer,
    private readonly workspaceId: string,
    private readonly taskId: string,
  ) {}

  say(body: string): Promise<CommentView> {
    return this.server.must<CommentView>(`POST /tasks/${this.taskId}/comments`, { body });
  }

  /** Its `n`th run, once it has begun or ended. */
  run(n = 1): Promise<RunView> {
    return this.waitForRun(n, () => true);
  }

  /** Its `n`th run, once it has ended. */
  ended(n = 1, ms = RUN_MS): Promise<RunView> {
    return this.waitForRun(n, ({ status }) => !IN_FLIGHT.includes(status), ms);
  }

  async session(): Promise<SessionView> {
    const { items } = await this.server.must<{ items: SessionView[] }>(`GET /tasks/${this.taskId}/sessions`);
    if (items.length !== 1) throw new Error(`${items.length} sessions`);
    return items[0]!;
  }

  /** What was said on it, oldest first. */
  async comments(): Promise<CommentView[]> {
    return (await this.server.must<{ items: CommentView[] }>(`GET /tasks/${this.taskId}/comments`)).items;
  }

  async state(): Promise<string> {
    return (await this.server.must<{ state: string }>(`GET /tasks/${this.taskId}`)).state;
  }

  /** The log of its first run. */
  async events(): Promise<RunEventView[]> {
    const { id } = await this.run();
    return (await this.server.must<{ items: RunEventView[] }>(`GET /runs/${id}/events?limit=200`)).items;
  }

  /** The path of a file in its folder. */
  async file(name: string): Promise<string> {
    return join((await this.session()).executor!.path, name);
  }

  private async waitForRun(n: number, is: (run: RunRowView) => boolean, ms = RUN_MS): Promise<RunView> {
    const found = await waitFor(
      async () => {
        const { items } = await this.server.must<{ items: RunRowView[] }>(
          `GET /workspaces/${this.workspaceId}/runs?task_id=${this.taskId}`,
        );
        const run = items.at(-n);
        return run !== undefined && is(run) && run;
      },
      ms,
      `run ${n}`,
    );
    return this.server.must<RunView>(`GET /runs/${found.id}`);
  }
}

/** A model of our own behind Codex, which asks it once and neither updates nor reports itself. */
const configuration = (modelUrl: string): string => `
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "${modelUrl}"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
`;

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

const linesOf = (file: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
