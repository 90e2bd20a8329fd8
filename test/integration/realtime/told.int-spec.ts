import { ScheduleModule } from '@nestjs/schedule';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RunTokens } from '../../../src/access/run-tokens.service.js';
import { PermissionRequests } from '../../../src/inbox/permission-requests.service.js';
import { newId } from '../../../src/platform/ids.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { ClaimService } from '../../../src/runs/claim.service.js';
import { RunOwnership } from '../../../src/runs/run-ownership.service.js';
import type { Result } from '../../../src/settlement/domain/ending.js';
import { SettlementService } from '../../../src/settlement/settlement.service.js';
import { CompletionSignals } from '../../../src/sessions/completion-signals.service.js';
import { StallWatchdogModule } from '../../../src/stall-watchdog/stall-watchdog.module.js';
import { StallWatchdog } from '../../../src/stall-watchdog/stall-watchdog.service.js';
import { aWorkspace } from '../../support/front-desk.js';
import { anAgent, aTask } from '../../support/office-rooms.js';
import { OFFICE_ROOMS } from '../../support/recovery-office.js';
import { openSocketOffice, RawClient, type SocketOffice } from '../../support/socket-office.js';

const DOCUMENT = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'events.md'), 'utf8');
const HOST = { hostId: newId(), bootId: newId() };

interface Told {
  readonly action: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

let office: SocketOffice;
let workspace: string;
let listener: RawClient;

beforeAll(async () => {
  office = await openSocketOffice({
    modules: [...OFFICE_ROOMS, ScheduleModule.forRoot(), StallWatchdogModule],
    providers: [],
    env: { OFFICE_WATCHDOG_CRON: '0 0 0 29 2 *' },
  });
  await office.rows(`insert into hosts (id, boot_id, name, adapters, max_executions) values ($1, $2, 'den', '{mock}', 100)`, [
    HOST.hostId,
    HOST.bootId,
  ]);
});
afterAll(() => office.close());

beforeEach(async () => {
  workspace = await aWorkspace(office);
  listener?.cut();
  listener = await RawClient.connect(office.url, office.adminToken);
  await listener.ask('workspace.subscribe', { workspace_id: workspace });
});

/** What the socket told of whatever `work` did; that it was all is known from the table. */
async function told(work: () => Promise<unknown>): Promise<Told[]> {
  const before = await lastSeq();
  await work();
  const last = await lastSeq();
  await listener.until(() => listener.notifications.length === last, `event ${last}`);
  return listener.notifications
    .filter(({ seq }) => seq! > before)
    .map(({ action, payload }) => ({ action, payload: payload as Told['payload'] }));
}

async function lastSeq(): Promise<number> {
  const [counter] = await office.rows<{ last: string }>(`select last_seq as last from office_event_counters where workspace_id = $1`, [
    workspace,
  ]);
  return Number(counter!.last);
}

/** An event in the words of the table. */
function inShort({ action, payload }: Told): string {
  const name = `\`${action}\``;
  switch (action) {
    case 'office.task.updated':
      return `${name} ${(payload.fields as string[]).join(', ')}`;
    case 'office.wakeup.updated':
      return [name, payload.status, ...(payload.waiting_on ? [`(${String(payload.waiting_on)})`] : []), ...withError(payload)].join(' ');
    case 'office.task.session.updated':
      return [name, payload.state, ...withError(payload)].join(' ');
    case 'office.approval.created':
    case 'office.approval.resolved':
      return [name, payload.type, payload.status].join(' ');
    case 'office.inbox_item':
      return [name, payload.kind, payload.change].join(' ');
    case 'office.agent.updated':
      return [name, payload.status, `(failures: ${String(payload.consecutive_failures)})`].join(' ');
    case 'office.stall':
      return [name, payload.kind, payload.change].join(' ');
    case 'office.comment.created':
      return `${name} by ${(payload.author as { kind: string }).kind}`;
    default:
      return name;
  }
}

const withError = ({ error_message }: Told['payload']): string[] => (error_message === undefined ? [] : ['with `error_message`']);

/** Rows of a table of the document: first cell to the others. */
function tableUnder(heading: string): Map<string, string[]> {
  const section = DOCUMENT.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/events.md has no section ${heading}`);
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return new Map(
    rows.slice(2).map((row) => {
      const [first, ...others] = row
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim());
      return [first!, others] as const;
    }),
  );
}

const patch = (path: string, body: object) => command(`PATCH /api/v1/${path}`, body);
const post = (path: string, body?: object) => command(`POST /api/v1/${path}`, body);
async function command(route: string, body?: object): Promise<void> {
  const answer = await office.ask(route, { token: office.adminToken, ...(body && { body }) });
  if (answer.status >= 300) throw new Error(`${route}: ${answer.text}`);
}

/** A run that asks a person once it is called. */
async function asking(): Promise<() => Promise<{ body: Readonly<Record<string, unknown>> }>> {
  const { run } = await running();
  const token = office.app.get(RunTokens, { strict: false }).mint(run);
  return () => office.ask('POST /api/v1/runtime/approvals', { token, body: { type: 'generic', reason: 'May I?' } });
}

async function claim(): Promise<ClaimedRun> {
  const { claimed } = await office.app
    .get(ClaimService)
    .claim({ workspaceId: workspace, ...HOST, leaseSec: 120, busyTaskIds: [], limit: 1, workDir: '/nowhere' });
  return claimed[0]!;
}
async function launch(run: ClaimedRun): Promise<void> {
  await office.app.get(RunOwnership).markLaunched(run);
  await office.app.get(RunOwnership).markStarted(run, 'acp-1');
}
const settle = (run: ClaimedRun, result: Result) => office.app.get(SettlementService).settle(run, result);

const PAYLOAD = '{"code":-32603,"message":"Internal error"}';
const ERROR = { kind: 'error', payload: PAYLOAD, evidence: { phase: 'prompt', outputSeen: true, effectSeen: false } } as unknown as Result;
const ENDED = { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null } as unknown as Result;

const assigned = async (about: Record<string, unknown> = {}): Promise<{ agent: string; task: string }> => {
  const agent = await anAgent(office, workspace, about);
  return { agent, task: await aTask(office, workspace, { assignee_agent_instance_id: agent }) };
};
const running = async (about: Record<string, unknown> = {}) => {
  const pair = await assigned(about);
  const run = await claim();
  await launch(run);
  return { ...pair, run };
};
const failed = async (about: Record<string, unknown> = {}) => {
  const pair = await running(about);
  await settle(pair.run, ERROR);
  return pair;
};
/** A task at work that an agent's seat waits for at a step. */
const reviewed = async (role = 'reviewer', step = 'Review'): Promise<{ task: string; seat: string }> => {
  const { task } = await assigned();
  return { task, seat: await seated(task, role, step, await anAgent(office, workspace, { name: 'Rita', role: 'reviewer' })) };
};
async function seated(task: string, role: string, step: string, agent_id: string): Promise<string> {
  const [place] = await office.rows<{ id: string }>(`select id from workflow_steps where workspace_id = $1 and name = $2`, [
    workspace,
    step,
  ]);
  const body = { step_id: place!.id, agent_id, role };
  const answer = await office.ask(`PUT /api/v1/tasks/${task}/participants`, { token: office.adminToken, body });
  return (answer.body['items'] as { id: string }[])[0]!.id;
}
const paused = () => failed({ failure_threshold: 1 });

/** An agent that lacks something; answers the call that shows it. */
async function lacking(): Promise<() => Promise<unknown>> {
  const { run, agent } = await running();
  const token = office.app.get(RunTokens, { strict: false }).mint(run);
  return () => office.ask(`POST /api/v1/runtime/agents/${agent}/runs`, { token, body: {} });
}

/** Every operation of the document's table: what has to be there, then what is done. */
const OPERATIONS: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
  'a task is created without an assignee': async () => () => aTask(office, workspace),
  'a task is created with an assignee': async () => {
    const agent = await anAgent(office, workspace);
    return () => aTask(office, workspace, { assignee_agent_instance_id: agent });
  },
  'a task is given to an agent that is paused': async () => {
    const agent = await anAgent(office, workspace);
    await post(`agents/${agent}/pause`, {});
    const task = await aTask(office, workspace);
    return () => patch(`tasks/${task}`, { assignee_agent_instance_id: agent });
  },
  'the title of a task is changed': async () => {
    const task = await aTask(office, workspace);
    return () => patch(`tasks/${task}`, { title: 'Mend the gate' });
  },
  'a run of an assignee is claimed': async () => {
    await assigned();
    return claim;
  },
  'its agent has been told its prompt': async () => {
    await assigned();
    const run = await claim();
    return () => launch(run);
  },
  'a run completes': async () => {
    const { run } = await running();
    return () => settle(run, ENDED);
  },
  'a run completes with a last message': async () => {
    const { run } = await running();
    return () => settle(run, { ...ENDED, lastMessage: 'Done.' } as Result);
  },
  'a run fails, below the threshold': async () => {
    const { run } = await running();
    return () => settle(run, ERROR);
  },
  'a run fails and the agent is paused for it (threshold 2, one failure open)': async () => {
    const { agent } = await failed({ failure_threshold: 2 });
    await aTask(office, workspace, { assignee_agent_instance_id: agent });
    const run = await claim();
    await launch(run);
    return () => settle(run, ERROR);
  },
  'a run takes too long': async () => {
    const { run } = await running();
    return () => settle(run, { ...ERROR, kind: 'timed_out' } as unknown as Result);
  },
  'a run is interrupted before its launch': async () => {
    await assigned();
    const run = await claim();
    return () => settle(run, { kind: 'interrupted', cause: 'host_restart' });
  },
  'a run is interrupted after its launch': async () => {
    const { run } = await running();
    return () => settle(run, { kind: 'interrupted', cause: 'host_restart' });
  },
  'an agent is unpaused after an automatic pause': async () => {
    const { agent } = await paused();
    return () => post(`agents/${agent}/unpause`);
  },
  'an agent is paused by a person': async () => {
    const agent = await anAgent(office, workspace);
    return () => post(`agents/${agent}/pause`, {});
  },
  'a task with a waiting run is reassigned': async () => {
    const { task } = await assigned();
    const other = await anAgent(office, workspace, { name: 'Bob' });
    return () => patch(`tasks/${task}`, { assignee_agent_instance_id: other });
  },
  'a task whose run has failed is reassigned': async () => {
    const { task } = await failed();
    const other = await anAgent(office, workspace, { name: 'Bob' });
    return () => patch(`tasks/${task}`, { assignee_agent_instance_id: other });
  },
  'a person comments on a task': async () => {
    const task = await aTask(office, workspace);
    return () => post(`tasks/${task}/comments`, { body: 'How is it going?' });
  },
  'a person comments on a task that is assigned': async () => {
    const agent = await anAgent(office, workspace);
    const task = await aTask(office, workspace, { assignee_agent_instance_id: agent });
    const run = await claim();
    await launch(run);
    await settle(run, ENDED);
    return () => post(`tasks/${task}/comments`, { body: 'How is it going?' });
  },
  'a person comments on a task whose run has failed': async () => {
    const { task } = await failed();
    return () => post(`tasks/${task}/comments`, { body: 'Try again' });
  },
  'a waiting run is cancelled by a person': async () => {
    await assigned();
    const [run] = await office.rows<{ id: string }>(`select id from runs where workspace_id = $1`, [workspace]);
    return () => post(`runs/${run!.id}/cancel`);
  },
  'a running run is cancelled by a person': async () => {
    const { run } = await running();
    return () => post(`runs/${run.runId}/cancel`);
  },
  'a run that was asked to stop has ended': async () => {
    const { run } = await running();
    await post(`runs/${run.runId}/cancel`);
    return () => settle(run, { kind: 'stopped', reason: 'cancelled_by_person' } as unknown as Result);
  },
  'a task with a waiting run is cancelled': async () => {
    const { task } = await assigned();
    return () => patch(`tasks/${task}`, { state: 'cancelled' });
  },
  'a task is done': async () => {
    const task = await aTask(office, workspace);
    await patch(`tasks/${task}`, { state: 'in_progress' });
    return () => patch(`tasks/${task}`, { state: 'done' });
  },
  'a task is asked to be reviewed': async () => {
    const { task } = await reviewed();
    return () => patch(`tasks/${task}`, { state: 'in_review' });
  },
  'a task is to be done before its approver has approved it': async () => {
    const { task } = await reviewed('approver', 'Approval');
    return async () => void (await office.ask(`PATCH /api/v1/tasks/${task}`, { token: office.adminToken, body: { state: 'done' } }));
  },
  'a reviewer approves, and nobody else has to decide': async () => {
    const { task, seat } = await reviewed();
    await patch(`tasks/${task}`, { state: 'in_review' });
    return () => post(`tasks/${task}/decisions`, { decision: 'approved', seat_id: seat });
  },
  'a reviewer wants changes, and all have decided': async () => {
    const { task, seat } = await reviewed();
    await patch(`tasks/${task}`, { state: 'in_review' });
    return () => post(`tasks/${task}/decisions`, { decision: 'changes_requested', seat_id: seat });
  },
  'a task goes on by hand': async () => {
    const { task } = await reviewed();
    return () => post(`tasks/${task}/advance`, {});
  },
  'a run completes whose agent has signalled, and a reviewer is next': async () => {
    const { agent, task, run } = await running();
    await seated(task, 'reviewer', 'Review', await anAgent(office, workspace, { name: 'Rita', role: 'reviewer' }));
    const words = { summary: 'Mended', handoff: null, blockers: null };
    await office.unitOfWork.run(workspace, (tx) =>
      office.app.get(CompletionSignals).signal(tx, workspace, { agentId: agent, sessionId: run.sessionId }, task, words),
    );
    return () => settle(run, ENDED);
  },
  'a turn has gone quiet, and speaks again': async () => {
    const { run } = await running();
    const see = (quietMs: number) =>
      office.app
        .get(RunOwnership)
        .renew({ ...HOST, leaseSec: 120 }, [
          { runId: run.runId, generation: run.generation, quietMs, processAlive: true, currentTool: null, awaitsPermission: false },
        ]);
    const watchdog = office.app.get(StallWatchdog);
    return async () => {
      await see(400_000);
      await watchdog.tick();
      await see(0);
      await watchdog.tick();
    };
  },
  'a task is deleted': async () => {
    const task = await aTask(office, workspace);
    return () => command(`DELETE /api/v1/tasks/${task}`);
  },
  'an agent is woken by hand': async () => {
    const agent = await anAgent(office, workspace);
    return () => post(`agents/${agent}/runs`, {});
  },
  'an agent is hired': async () => () => anAgent(office, workspace),
  'an agent asks for an approval': async () => {
    return asking();
  },
  'an approval is granted': async () => {
    const { approval } = (await (await asking())()).body as { approval: { id: string } };
    return () => post(`approvals/${approval.id}/approve`, {});
  },
  'an agent with a task is archived': async () => {
    const { agent } = await assigned();
    return () => command(`DELETE /api/v1/agents/${agent}`);
  },
  'Mark fixed on a failed run': async () => {
    const { run } = await failed();
    return () => post(`workspaces/${workspace}/inbox/items/${run.runId}/dismiss`);
  },
  'Mark fixed on an automatic pause (one task)': async () => {
    await paused();
    return () => markFixed('agent_paused_after_failures');
  },
  'Mark fixed on interrupted runs (one task)': async () => {
    const { run } = await running();
    await settle(run, { kind: 'interrupted', cause: 'host_restart' });
    return () => markFixed('runs_interrupted');
  },
  'a failed session is resumed': async () => {
    const { run, task } = await failed();
    return () => post(`tasks/${task}/sessions/${run.sessionId}/resume`);
  },
  'a failed session is started fresh': async () => {
    const { run, task } = await failed();
    return () => post(`tasks/${task}/sessions/${run.sessionId}/start-fresh`);
  },
  'a session at rest is started fresh, its host away': async () => {
    const { run, task } = await running();
    await settle(run, ENDED);
    const away = newId();
    await office.rows(
      `insert into hosts (id, boot_id, name, adapters, max_executions, last_seen_at) values ($1, $1, 'gone', '{}', 1, now() - interval '1 hour')`,
      [away],
    );
    await office.rows(`update task_folders set host_id = $2 where task_id = $1`, [task, away]);
    return () => post(`tasks/${task}/sessions/${run.sessionId}/start-fresh`);
  },
  'a run fails for a passing reason and is tried again': async () => {
    const { agent, run } = await running();
    await office.rows(`update agent_instances set adapter = 'claude' where id = $1`, [agent]);
    const payload = '{"code":-32603,"message":"Internal error: API Error: 529 Overloaded","data":{"errorKind":"server_error"}}';
    const evidence = { executionId: run.executionId, acpSessionId: 'acp-1', phase: 'prompt', outputSeen: false, effectSeen: false };
    return () => settle(run, { kind: 'error', payload, evidence } as unknown as Result);
  },
  'an agent asks permission': async () => {
    const { run } = await running();
    return () => asks(run);
  },
  'a person answers it': async () => {
    const { run } = await running();
    const id = await asks(run);
    return () => post(`workspaces/${workspace}/inbox/items/${id}/answer`, { decision: 'allow_once' });
  },
  'a run completes while it asks': async () => {
    const { run } = await running();
    await asks(run);
    return () => settle(run, ENDED);
  },
  'an agent is refused for want of a capability': async () => lacking(),
  'an admin grants it': async () => {
    await (
      await lacking()
    )();
    const [item] = await office.rows<{ id: string }>(`select id from missing_capabilities where workspace_id = $1`, [workspace]);
    return () => post(`workspaces/${workspace}/inbox/items/${item!.id}/answer`, { decision: 'allow_always' });
  },
};

async function asks(run: ClaimedRun): Promise<string> {
  const request = { requestId: newId(), title: 'touch a', kind: null, input: null, subject: 'touch a' };
  const requests = office.app.get(PermissionRequests, { strict: false });
  await office.unitOfWork.run(workspace, (tx) => requests.open(tx, run, request, 60));
  return request.requestId;
}

async function markFixed(kind: string): Promise<void> {
  const { body } = await office.ask(`GET /api/v1/workspaces/${workspace}/inbox`, { token: office.adminToken });
  const item = (body.items as { id: string; kind: string }[]).find((one) => one.kind === kind);
  await post(`workspaces/${workspace}/inbox/items/${item!.id}/dismiss`);
}

describe('docs/events.md', () => {
  const operations = tableUnder('Operations');

  it('has a row for every operation that is driven here, and no other', () => {
    expect([...operations.keys()]).toEqual(Object.keys(OPERATIONS));
  });

  it.each(Object.keys(OPERATIONS))('is right: %s', async (operation) => {
    const work = await OPERATIONS[operation]!();
    const events = await told(work);
    expect(events.map(inShort).join(' · ') || 'nothing').toBe(operations.get(operation)?.[0]);
    const payloads = tableUnder('Payloads');
    for (const { action, payload } of events) {
      const [fields] = payloads.get(`\`${action}\``) ?? [];
      const [required, optional] = [/`(\w+)`(?!\?)/g, /`(\w+)`\?/g].map((pattern) =>
        [...fields!.matchAll(pattern)].map(([, field]) => field!),
      );
      expect(Object.keys(payload)).toEqual(expect.arrayContaining(required!));
      expect([...required!, ...optional!]).toEqual(expect.arrayContaining(Object.keys(payload)));
    }
  });

  it('cuts the payload of a failure to 4 KiB', async () => {
    const { run } = await running();
    const events = await told(() => settle(run, { ...ERROR, payload: 'é'.repeat(10_000) } as unknown as Result));
    const messages = events.flatMap(({ payload }) => (typeof payload.error_message === 'string' ? [payload.error_message] : []));
    expect(messages.map((message) => Buffer.byteLength(message))).toEqual([4_096, 4_096]);
  });
});
