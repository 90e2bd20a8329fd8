import { RunTokens } from '../../src/access/run-tokens.service.js';
import type { ClaimedRun } from '../../src/runs/claim.js';
import type { Answer } from './office-app.js';
import { RecoveryOffice } from './recovery-office.js';

export interface RunEvent {
  readonly seq: number;
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** An agent at work, as its process would see the office. */
export class Worker {
  constructor(
    private readonly office: RecoveryOffice,
    readonly run: ClaimedRun,
    readonly token: string,
  ) {}

  /** `ask('POST /comments', {...})`; the path is below `/runtime`. */
  ask(route: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const [method, path] = route.split(' ') as [string, string];
    return this.office.app.ask(`${method} /api/v1/runtime${path}`, { token: this.token, headers, ...(body === undefined ? {} : { body }) });
  }

  async must<Body = Record<string, unknown>>(route: string, body?: unknown): Promise<Body> {
    const answer = await this.ask(route, body);
    if (answer.status >= 300) throw new Error(`${route}: ${answer.status} ${answer.text}`);
    return answer.body as Body;
  }

  /** What the run's log has of its actions, oldest first. */
  async log(): Promise<RunEvent[]> {
    const events = await this.office.rows<RunEvent>(
      `select seq, event_type, payload from office_run_events where run_id = $1 order by seq`,
      this.run.runId,
    );
    return events.filter(({ event_type }) => event_type.startsWith('runtime.'));
  }

  async lastLogged(): Promise<[string, Readonly<Record<string, unknown>>] | undefined> {
    const last = (await this.log()).at(-1);
    return last && [last.event_type, last.payload];
  }
}

/** The office with agents that are at work in it: their runs are claimed, and they hold their tokens. */
export class RuntimeDesk {
  private constructor(
    readonly office: RecoveryOffice,
    readonly workspaceId: string,
  ) {}

  static async open(env: Readonly<Record<string, string>> = {}): Promise<RuntimeDesk> {
    const office = await RecoveryOffice.open(env);
    return new RuntimeDesk(office, await office.workspace());
  }

  /** The same office, another workspace. */
  async elsewhere(): Promise<RuntimeDesk> {
    return new RuntimeDesk(this.office, await this.office.workspace());
  }

  /** Opens its doors on a port of its own; answers where. */
  async listen(): Promise<string> {
    await this.office.app.app.listen(0, '127.0.0.1');
    return this.office.app.app.getUrl();
  }

  close(): Promise<void> {
    return this.office.close();
  }

  /** A new agent with a task of its own, at work on it. */
  async worker(about: Readonly<Record<string, unknown>> = {}, task: Readonly<Record<string, unknown>> = {}): Promise<Worker> {
    const agentId = await this.office.agent(this.workspaceId, { role: 'worker', ...about });
    const taskId = await this.office.task(this.workspaceId, { ...task, assignee_agent_instance_id: agentId });
    return this.atWork(await this.office.startPair(this.workspaceId, agentId, taskId));
  }

  /** A new agent at work on nothing in particular. */
  async idler(about: Readonly<Record<string, unknown>> = {}): Promise<Worker> {
    const agentId = await this.office.agent(this.workspaceId, { role: 'worker', ...about });
    await this.office.must(`POST /agents/${agentId}/runs`, {});
    const run = (await this.office.start(this.workspaceId)).find((one) => one.agentId === agentId);
    return this.atWork(run!);
  }

  atWork(run: ClaimedRun): Worker {
    return new Worker(this.office, run, this.office.app.app.get(RunTokens, { strict: false }).mint(run));
  }

  task(about: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return this.office.task(this.workspaceId, about);
  }

  agent(about: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return this.office.agent(this.workspaceId, about);
  }
}
