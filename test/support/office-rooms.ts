import { AgentModule } from '../../src/agents/agent.module.js';
import { AgentReactions } from '../../src/agents/agent-reactions.js';
import { AgentReadings } from '../../src/agents/agent-readings.js';
import type { AgentReading } from '../../src/agents/agent-readings.js';
import type { Actor } from '../../src/platform/actor.js';
import type { Tx } from '../../src/platform/database/tx.js';
import { SessionModule } from '../../src/sessions/session.module.js';
import { SessionRepository } from '../../src/sessions/session.repository.js';
import { SessionsOfTasks } from '../../src/sessions/sessions-of-tasks.service.js';
import { TaskReactions } from '../../src/tasks/task-reactions.js';
import type { ChangedTask, Closing, StepAsks } from '../../src/tasks/task-reactions.js';
import { TaskSessions } from '../../src/tasks/task-sessions.js';
import { TaskModule } from '../../src/tasks/task.module.js';
import { WorkflowModule } from '../../src/workflow/workflow.module.js';
import { openFrontDesk } from './front-desk.js';
import type { OfficeApp } from './office-app.js';

/** Writes down what the rooms above would have been asked to do. `during` runs inside the transaction, if a test sets it. */
export class RecordedAgentReactions extends AgentReactions {
  readonly calls: unknown[][] = [];
  during: (tx: Tx) => Promise<void> = async () => undefined;

  override async unpaused(tx: Tx, agent: { id: string; closedPauseId: string | null }): Promise<void> {
    this.calls.push(['unpaused', agent.id, agent.closedPauseId]);
    await this.during(tx);
  }
  override async archived(tx: Tx, agent: { id: string }): Promise<void> {
    this.calls.push(['archived', agent.id]);
    await this.during(tx);
  }
  override async entitled(tx: Tx, agent: { id: string; holds: readonly string[]; by: string | null }): Promise<void> {
    this.calls.push(['entitled', agent.id, agent.holds, agent.by]);
    await this.during(tx);
  }
  override async startedAgain(tx: Tx, agent: { id: string }): Promise<void> {
    this.calls.push(['startedAgain', agent.id]);
    await this.during(tx);
  }
}

export class RecordedTaskReactions extends TaskReactions {
  readonly calls: unknown[][] = [];
  during: (tx: Tx) => Promise<void> = async () => undefined;

  override async assigneeChanged(tx: Tx, task: ChangedTask, from: string | null, actor: Actor): Promise<void> {
    this.calls.push(['assigneeChanged', task, from, actor]);
    await this.during(tx);
  }
  override async commented(tx: Tx, task: ChangedTask, comment: object, actor: Actor): Promise<void> {
    this.calls.push(['commented', task, comment, actor]);
    await this.during(tx);
  }
  override async stepEntered(tx: Tx, task: ChangedTask, asks: StepAsks | null, actor: Actor): Promise<void> {
    this.calls.push(['stepEntered', task, asks, actor]);
    await this.during(tx);
  }
  override async seatGiven(tx: Tx, task: ChangedTask, agentId: string, actor: Actor): Promise<void> {
    this.calls.push(['seatGiven', task, agentId, actor]);
    await this.during(tx);
  }
  override async closed(tx: Tx, task: ChangedTask, how: Closing, actor: Actor): Promise<void> {
    this.calls.push(['closed', task, how, actor]);
    await this.during(tx);
  }
  override async unblocked(tx: Tx, task: ChangedTask, actor: Actor): Promise<void> {
    this.calls.push(['unblocked', task, actor]);
    await this.during(tx);
  }
}

/** What a test says there is to read of an agent. */
export class SetAgentReadings extends AgentReadings {
  readonly known = new Map<string, AgentReading>();
  asked = 0;

  override usageOf(): Promise<null> {
    return Promise.resolve(null);
  }

  override async of(_db: unknown, _workspaceId: string, agentIds: readonly string[]): Promise<ReadonlyMap<string, AgentReading>> {
    this.asked++;
    return new Map([...this.known].filter(([id]) => agentIds.includes(id)));
  }
}

export interface OfficeRooms extends OfficeApp {
  readonly agentReactions: RecordedAgentReactions;
  readonly taskReactions: RecordedTaskReactions;
  readonly readings: SetAgentReadings;
  /** Everything told in a workspace since the last call with it, as `[action, payload]`. */
  told(workspaceId: string): Promise<[string, Record<string, unknown>][]>;
}

/** The rooms from workspaces to sessions; what stands above them is recorded. */
export async function openRooms(): Promise<OfficeRooms> {
  const agentReactions = new RecordedAgentReactions();
  const taskReactions = new RecordedTaskReactions();
  const readings = new SetAgentReadings();
  const office = await openFrontDesk({
    modules: [WorkflowModule, AgentModule, TaskModule, SessionModule],
    providers: [
      SessionRepository,
      { provide: TaskSessions, useClass: SessionsOfTasks },
      { provide: AgentReactions, useValue: agentReactions },
      { provide: TaskReactions, useValue: taskReactions },
      { provide: AgentReadings, useValue: readings },
    ],
  });
  const heard = new Map<string, number>();
  return {
    ...office,
    agentReactions,
    taskReactions,
    readings,
    told: async (workspaceId) => {
      const events = await office.rows<{ seq: string; action: string; payload: Record<string, unknown> }>(
        `select seq, action, payload from office_events where workspace_id = $1 and seq > $2 order by seq`,
        [workspaceId, heard.get(workspaceId) ?? 0],
      );
      heard.set(workspaceId, Number(events.at(-1)?.seq ?? heard.get(workspaceId) ?? 0));
      return events.map(({ action, payload }) => [action, payload]);
    },
  };
}

/** An agent hired by the first admin: a mock worker unless said otherwise. */
export async function anAgent(office: OfficeApp, workspaceId: string, about: Record<string, unknown> = {}): Promise<string> {
  const body = { name: 'Ada', role: 'worker', adapter: 'mock', ...about };
  const made = await office.ask(`POST /api/v1/workspaces/${workspaceId}/agents`, { token: office.adminToken, body });
  if (made.status !== 201) throw new Error(made.text);
  return String(made.body['id']);
}

export async function aTask(office: OfficeApp, workspaceId: string, about: Record<string, unknown> = {}): Promise<string> {
  const body = { title: 'Mend the door', ...about };
  const made = await office.ask(`POST /api/v1/workspaces/${workspaceId}/tasks`, { token: office.adminToken, body });
  if (made.status !== 201) throw new Error(made.text);
  return String(made.body['id']);
}
