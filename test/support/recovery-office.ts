import type { ModuleMetadata } from '@nestjs/common';
import { AgentModule } from '../../src/agents/agent.module.js';
import { DashboardModule } from '../../src/dashboard/dashboard.module.js';
import { InboxModule } from '../../src/inbox/inbox.module.js';
import { newId } from '../../src/platform/ids.js';
import { RecoveryModule } from '../../src/recovery/recovery.module.js';
import type { ClaimedRun } from '../../src/runs/claim.js';
import { ClaimService, type ClaimResult } from '../../src/runs/claim.service.js';
import { RunModule } from '../../src/runs/run.module.js';
import { RunOwnership } from '../../src/runs/run-ownership.service.js';
import { LiveRunsModule } from '../../src/scheduler/live-runs.module.js';
import { RuntimeModule } from '../../src/runtime/runtime.module.js';
import { SessionModule } from '../../src/sessions/session.module.js';
import type { Result } from '../../src/settlement/domain/ending.js';
import { SettlementModule } from '../../src/settlement/settlement.module.js';
import { SettlementService } from '../../src/settlement/settlement.service.js';
import type { Settled } from '../../src/settlement/domain/ending.js';
import { TaskModule } from '../../src/tasks/task.module.js';
import { WorkflowModule } from '../../src/workflow/workflow.module.js';
import { failureOf } from './failing-runs.js';
import { openFrontDesk } from './front-desk.js';
import { anAgent, aTask } from './office-rooms.js';
import type { Answer, OfficeApp } from './office-app.js';

/** The office without its scheduler, dashboard and socket, for tests that claim by themselves. */
export const OFFICE_ROOMS = [
  WorkflowModule,
  AgentModule,
  TaskModule,
  SessionModule,
  RunModule,
  InboxModule,
  SettlementModule,
  LiveRunsModule,
  RecoveryModule,
  RuntimeModule,
];

export const PAYLOAD = `{"code":-32603,"message":"Internal error","data":{"message":"model gone"}}`;

export interface Item {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly agent_id: string | null;
  readonly task_ids: readonly string[];
  readonly resolved: { readonly by: { readonly name: string }; readonly at: string } | null;
}

export interface InboxEvent {
  readonly kind: string;
  readonly item_id: string;
  readonly title: string;
  readonly change: 'opened' | 'resolved';
}

/**
 * The whole office behind its front desk, without the scheduler: a test takes its part, claims when it wants to and says how each run
 * ends. People come in over HTTP.
 */
export class RecoveryOffice {
  readonly hostId = newId();
  readonly bootId = newId();

  private constructor(readonly app: OfficeApp) {}

  static async open(
    env: Readonly<Record<string, string>> = {},
    more: NonNullable<ModuleMetadata['imports']> = [],
  ): Promise<RecoveryOffice> {
    const app = await openFrontDesk({
      env,
      modules: [...OFFICE_ROOMS, DashboardModule, ...more],
      providers: [],
    });
    const office = new RecoveryOffice(app);
    await app.rows(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'den', '{mock}', 1000)`, [
      office.hostId,
      office.bootId,
    ]);
    return office;
  }

  get token(): string {
    return this.app.adminToken;
  }

  close(): Promise<void> {
    return this.app.close();
  }

  ask(route: string, body?: unknown, token = this.token): Promise<Answer> {
    const [method, path] = route.split(' ') as [string, string];
    return this.app.ask(`${method} /api/v1${path}`, { token, ...(body === undefined ? {} : { body }) });
  }

  /** As `ask`, but a refusal is an error of the test. */
  async must<Body = Record<string, unknown>>(route: string, body?: unknown, token = this.token): Promise<Body> {
    const answer = await this.ask(route, body, token);
    if (answer.status >= 300) throw new Error(`${route}: ${answer.text}`);
    return answer.body as Body;
  }

  async workspace(settings: Record<string, unknown> = {}): Promise<string> {
    const { id } = await this.must<{ id: string }>('POST /workspaces', { name: 'Acme' });
    if (Object.keys(settings).length > 0) await this.must(`PATCH /workspaces/${id}/settings`, settings);
    return id;
  }

  agent(workspaceId: string, about: Record<string, unknown> = {}): Promise<string> {
    return anAgent(this.app, workspaceId, { max_concurrent_sessions: 100, ...about });
  }

  task(workspaceId: string, about: Record<string, unknown> = {}): Promise<string> {
    return aTask(this.app, workspaceId, about);
  }

  async claim(workspaceId: string, limit = 100): Promise<ClaimResult> {
    await this.rows(`update hosts set last_seen_at = now() where id = $1`, this.hostId);
    return this.app.app.get(ClaimService, { strict: false }).claim({
      workspaceId,
      hostId: this.hostId,
      bootId: this.bootId,
      leaseSec: 120,
      busyTaskIds: [],
      limit,
      workDir: '/nowhere',
    });
  }

  /** Claims everything that may be, and takes it to RUNNING. */
  async start(workspaceId: string): Promise<ClaimedRun[]> {
    const { claimed } = await this.claim(workspaceId);
    const ownership = this.app.app.get(RunOwnership, { strict: false });
    for (const run of claimed) {
      await ownership.markLaunched(run);
      await ownership.markStarted(run, run.acpSessionId ?? `acp-${run.runId}`);
    }
    return [...claimed];
  }

  /** Takes exactly this pair's waiting run to RUNNING; every other that was claimable runs as well. */
  async startPair(workspaceId: string, agentId: string, taskId: string): Promise<ClaimedRun> {
    const run = (await this.start(workspaceId)).find((one) => one.agentId === agentId && one.taskId === taskId);
    if (run === undefined) throw new Error('the run of the pair was not claimable');
    return run;
  }

  settle(run: ClaimedRun, result: Result): Promise<Settled> {
    return this.app.app.get(SettlementService, { strict: false }).settle(run, result);
  }

  fail(run: ClaimedRun, payload = PAYLOAD): Promise<Settled> {
    return this.settle(run, failureOf(run, payload, { acpSessionId: run.acpSessionId }));
  }

  complete(run: ClaimedRun): Promise<Settled> {
    return this.settle(run, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
  }

  interrupt(run: ClaimedRun): Promise<Settled> {
    return this.settle(run, { kind: 'interrupted', cause: 'host_restart' });
  }

  /** A new task of that agent whose first run fails. Answers the task and the run. */
  async failedTask(
    workspaceId: string,
    agentId: string,
    title = 'Mend the door',
  ): Promise<{ taskId: string; runId: string; sessionId: string }> {
    const taskId = await this.task(workspaceId, { title, assignee_agent_instance_id: agentId });
    const run = await this.startPair(workspaceId, agentId, taskId);
    await this.fail(run);
    return { taskId, runId: run.runId, sessionId: run.sessionId };
  }

  async inbox(workspaceId: string, state: 'open' | 'resolved' = 'open'): Promise<Item[]> {
    return (await this.must<{ items: Item[] }>(`GET /workspaces/${workspaceId}/inbox?state=${state}&limit=200`)).items;
  }

  async count(workspaceId: string): Promise<number> {
    return (await this.must<{ open: number }>(`GET /workspaces/${workspaceId}/inbox/count`)).open;
  }

  dismiss(workspaceId: string, itemId: string, token = this.token): Promise<Answer> {
    return this.ask(`POST /workspaces/${workspaceId}/inbox/items/${itemId}/dismiss`, undefined, token);
  }

  agentNow(agentId: string): Promise<Record<string, unknown>> {
    return this.must(`GET /agents/${agentId}`);
  }

  async rows<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]> {
    return this.app.rows<Row>(sql, parameters);
  }

  async row<Row>(sql: string, ...parameters: unknown[]): Promise<Row> {
    const [row] = await this.rows<Row>(sql, ...parameters);
    if (row === undefined) throw new Error(`no row: ${sql}`);
    return row;
  }

  /** What was told of the inbox so far, in order. */
  async told(workspaceId: string): Promise<InboxEvent[]> {
    const events = await this.rows<{ payload: InboxEvent }>(
      `select payload from office_events where workspace_id = $1 and action = 'office.inbox_item' order by seq`,
      workspaceId,
    );
    return events.map(({ payload }) => payload);
  }
}

/** What a client knows that only ever listened: the open items, by id. A repeated opening or resolution is an error. */
export function openByEvents(events: readonly InboxEvent[]): Map<string, string> {
  const open = new Map<string, string>();
  for (const { kind, item_id, title, change } of events) {
    if (open.has(item_id) === (change === 'opened')) throw new Error(`${kind} ${item_id} was told ${change} twice`);
    if (change === 'opened') open.set(item_id, title);
    else open.delete(item_id);
  }
  return open;
}
