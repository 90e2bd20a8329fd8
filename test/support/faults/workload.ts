import { mockScript, type Reply } from '../real-server.js';
import type { Fleet } from './fleet.js';

/** What agents do, in the proportions of trouble rather than of life. */
const SCRIPTS = [
  mockScript({ say: 'working' }, { sleep_ms: 150 }, { say: 'done' }),
  mockScript({ say: 'quick' }),
  mockScript({ say: 'quicker' }),
  mockScript({ think: 'hm' }, { tool: 'look' }, { say: 'seen' }),
  mockScript({ say: 'long' }, { sleep_ms: 2_000 }, { say: 'done' }),
  mockScript({ fail: { code: -32603, message: 'Internal error', data: { message: 'no such model' } } }),
  mockScript({ spawn_child: { hold_stdout: true } }, { say: 'left a child' }),
  mockScript({ ignore_sigterm: true }, { say: 'stubborn' }, { sleep_ms: 600 }),
  mockScript({ exit: { code: 3 } }),
];
export const FINE = mockScript({ say: 'fine now' });

export interface Staff {
  readonly workspaces: readonly string[];
  readonly agents: readonly { readonly id: string; readonly workspaceId: string }[];
}

export interface Work {
  readonly id: string;
  readonly workspaceId: string;
}

/** A wake that somebody was told of. */
export interface Told {
  readonly runId: string;
  readonly outcome: string;
}

/** Workspaces with agents, made over the wire. */
export async function hire(
  fleet: Fleet,
  about: { workspaces: number; agents: number; concurrent?: number; threshold?: number },
): Promise<Staff> {
  const workspaces: string[] = [];
  const agents: { id: string; workspaceId: string }[] = [];
  for (let w = 0; w < about.workspaces; w++) {
    const { id: workspaceId } = await fleet.must<{ id: string }>('POST /workspaces', { name: `W${w}` });
    workspaces.push(workspaceId);
    await fleet.must(`PATCH /workspaces/${workspaceId}/settings`, { agent_failure_threshold: about.threshold ?? 3 });
    for (let a = 0; a < about.agents; a++) {
      const { id } = await fleet.must<{ id: string }>(`POST /workspaces/${workspaceId}/agents`, {
        name: `A${a}`,
        role: 'worker',
        adapter: 'mock',
        max_concurrent_sessions: about.concurrent ?? 2,
      });
      agents.push({ id, workspaceId });
    }
  }
  return { workspaces, agents };
}

interface Listed {
  readonly id: string;
}

/**
 * People who keep an office busy through its public wire, by seeded dice: new tasks, comments, interruptions, manual runs, cancels,
 * Mark fixed, reassignments, pauses, ends of tasks. Each asks whichever server answers.
 */
export class Workload {
  readonly tasks: Work[] = [];
  readonly told: Told[] = [];
  /** How often each thing was answered how. */
  readonly answers = new Map<string, number>();
  private going = true;
  private people: Promise<unknown> = Promise.resolve();
  private asked = 0;

  constructor(
    private readonly fleet: Fleet,
    private readonly staff: Staff,
    private readonly random: () => number,
    private readonly mostTasks = 60,
  ) {}

  get requests(): number {
    return this.asked;
  }

  /** So many people begin, each with a pause of up to so many milliseconds between two requests. */
  start(people: number, pauseMs: number): this {
    this.people = Promise.all(Array.from({ length: people }, () => this.person(pauseMs)));
    return this;
  }

  /** When the last request has been answered. Rejects when somebody met what no client should. */
  async stop(): Promise<void> {
    this.going = false;
    await this.people;
  }

  private async person(pauseMs: number): Promise<void> {
    while (this.going) {
      await this.oneThing();
      await new Promise((resolve) => setTimeout(resolve, this.random() * pauseMs));
    }
  }

  private async oneThing(): Promise<void> {
    const dice = this.random();
    const task = this.one(this.tasks);
    if (task === undefined || (dice < 0.3 && this.tasks.length < this.mostTasks)) return this.newTask();
    const at = `/workspaces/${task.workspaceId}`;
    if (dice < 0.5) await this.say('comment', `POST /tasks/${task.id}/comments`, { body: 'go on', interrupt: this.random() < 0.2 });
    else if (dice < 0.62) await this.wake(task);
    else if (dice < 0.7) await this.toOne<Listed>('cancel', `${at}/runs?status=running`, ({ id }) => `POST /runs/${id}/cancel`);
    else if (dice < 0.84) await this.toOne<Listed>('fixed', `${at}/inbox`, ({ id }) => `POST ${at}/inbox/items/${id}/dismiss`);
    else if (dice < 0.9)
      await this.say('reassign', `PATCH /tasks/${task.id}`, { assignee_agent_instance_id: this.agentOf(task.workspaceId) });
    else if (dice < 0.93) await this.say('pause', `POST /agents/${this.agentOf(task.workspaceId)}/pause`, {});
    else if (dice < 0.97) await this.say('unpause', `POST /agents/${this.agentOf(task.workspaceId)}/unpause`, {});
    else await this.say('over', `PATCH /tasks/${task.id}`, { state: this.random() < 0.5 ? 'done' : 'cancelled' });
  }

  private async newTask(): Promise<void> {
    const agent = this.one(this.staff.agents)!;
    const reply = await this.say<{ id: string }>('task', `POST /workspaces/${agent.workspaceId}/tasks`, {
      title: 'work',
      description: this.one(SCRIPTS)!,
      assignee_agent_instance_id: agent.id,
    });
    if (reply.status === 201) this.tasks.push({ id: reply.body.id, workspaceId: agent.workspaceId });
  }

  private async wake(task: Work): Promise<void> {
    const reply = await this.say<{ run_id: string; outcome: string }>('wake', `POST /agents/${this.agentOf(task.workspaceId)}/runs`, {
      task_id: task.id,
    });
    if (reply.status === 202) this.told.push({ runId: reply.body.run_id, outcome: reply.body.outcome });
  }

  private async toOne<Item>(what: string, list: string, route: (item: Item) => string): Promise<void> {
    const { body } = await this.fleet.ask<{ items: Item[] }>(`GET ${list}`, undefined, { pick: this.asked });
    const item = this.one(body.items);
    if (item !== undefined) await this.say(what, route(item), {});
  }

  private async say<Body = Record<string, unknown>>(what: string, route: string, body: object): Promise<Reply<Body>> {
    const reply = await this.fleet.ask<Body>(route, body, { pick: this.asked++ });
    const answer = `${what} ${reply.status}`;
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
    return reply;
  }

  private agentOf(workspaceId: string): string {
    return this.one(this.staff.agents.filter((agent) => agent.workspaceId === workspaceId))!.id;
  }

  private one<Item>(list: readonly Item[]): Item | undefined {
    return list[Math.floor(this.random() * list.length)];
  }
}

interface Item {
  readonly id: string;
  readonly kind: string;
}

/**
 * A person goes round and sees to everything: pauses lifted, items marked fixed, every open task told to work, until nothing waits,
 * runs or needs anybody. What cannot be brought to rest is what the harness is after, so it throws then.
 */
export async function seeToEverything(fleet: Fleet, staff: Staff, patienceMs: number): Promise<void> {
  const until = performance.now() + patienceMs;
  for (const workspaceId of staff.workspaces) {
    for (const task of await fleet.all<{ id: string; state: string }>(`GET /workspaces/${workspaceId}/tasks`)) {
      if (task.state !== 'DONE' && task.state !== 'CANCELLED') await fleet.must(`PATCH /tasks/${task.id}`, { description: FINE });
    }
  }
  for (const { id } of staff.agents) await fleet.ask(`POST /agents/${id}/unpause`, {});
  for (;;) {
    let left = 0;
    for (const workspaceId of staff.workspaces) {
      const items = await fleet.all<Item>(`GET /workspaces/${workspaceId}/inbox`);
      for (const { id } of items) await fleet.ask(`POST /workspaces/${workspaceId}/inbox/items/${id}/dismiss`, {});
      for (const status of ['queued', 'scheduled_retry', 'running']) {
        left += (await fleet.all(`GET /workspaces/${workspaceId}/runs?status=${status}`)).length;
      }
      left += items.length;
    }
    if (left === 0) return;
    if (performance.now() > until) throw new Error(`${left} runs and inbox items do not come to rest`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
