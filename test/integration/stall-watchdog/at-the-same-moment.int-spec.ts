import { ScheduleModule } from '@nestjs/schedule';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { RunOwnership } from '../../../src/runs/run-ownership.service.js';
import { CompletionSignals } from '../../../src/sessions/completion-signals.service.js';
import { SignalReclaimer } from '../../../src/stall-watchdog/signal-reclaimer.service.js';
import { AT_GATES } from '../../../src/stall-watchdog/stall-readers.repository.js';
import { QuietTurns, SignalledSessions, TasksAtGates, type TaskAtGate } from '../../../src/stall-watchdog/stall-readers.js';
import { StallTeller, type ToldStall } from '../../../src/stall-watchdog/stall-teller.service.js';
import { StallWatchdogModule } from '../../../src/stall-watchdog/stall-watchdog.module.js';
import { manyTasks } from '../../support/many-rows.js';
import { RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let workspaceId: string;
let worker: string;
let approval: string;

beforeAll(async () => {
  office = await RecoveryOffice.open({ OFFICE_WATCHDOG_CRON: '0 0 0 29 2 *' }, [ScheduleModule.forRoot(), StallWatchdogModule]);
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
  worker = await office.agent(workspaceId, { name: 'Wanda' });
  approval = (await office.row<{ id: string }>(`select id from workflow_steps where workspace_id = $1 and name = 'Approval'`, workspaceId))
    .id;
});

const part = <T>(token: abstract new (...args: never[]) => T): T => office.app.app.get<T>(token as never, { strict: false });
const page = () => ({ after: null, take: 10, workspaceId });
const HOUR = 3_600_000;
const stalls = () => office.rows(`select from office_events where workspace_id = $1 and action = 'office.stall'`, workspaceId);

async function waiting(): Promise<TaskAtGate> {
  const taskId = await office.task(workspaceId);
  const ada = await office.agent(workspaceId, { name: 'Ada', role: 'reviewer' });
  await office.must(`PUT /tasks/${taskId}/participants`, { role: 'approver', step_id: approval, agent_id: ada });
  await office.must(`POST /tasks/${taskId}/advance`, { to_step_id: approval });
  await office.rows(
    `update runs set status = 'cancelled', cancel_reason = 'cancelled_by_person', finished_at = now() where task_id = $1`,
    taskId,
  );
  await office.rows(`update tasks set step_entered_at = now() - interval '2 hours' where id = $1`, taskId);
  return (await part(TasksAtGates).list(page(), HOUR)).find((task) => task.taskId === taskId)!;
}
const stallOf = (found: TaskAtGate): ToldStall => ({
  workspaceId,
  kind: 'decision_waiting',
  task_id: found.taskId,
  step_id: found.stepId,
  age_ms: 1,
});
const RUN = `insert into runs (id, workspace_id, agent_id, task_id, reason, wake_class, entitlement) values ($1, $2, $3, $4, 'mentioned', 1, 'none')`;
const runOf = (taskId: string): unknown[] => [newId(), workspaceId, worker, taskId];

describe('between the look and the telling', () => {
  it('a run that starts keeps the task from being told', async () => {
    const found = await waiting();
    await office.app.rows(RUN, runOf(found.taskId));
    expect([await part(StallTeller).decisionWaiting(found, stallOf(found)), await stalls()]).toEqual([false, []]);
  });

  it('a run that is just about to be committed keeps it, too', async () => {
    const found = await waiting();
    const runner = office.app.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(RUN, runOf(found.taskId));
    expect(await part(StallTeller).decisionWaiting(found, stallOf(found))).toBe(false);
    await runner.rollbackTransaction();
    await runner.release();
    expect(await part(StallTeller).decisionWaiting(found, stallOf(found))).toBe(true);
  });

  it.each<[string, (found: TaskAtGate) => Promise<unknown>]>([
    [
      'a decision',
      async ({ taskId }) => {
        const { items } = await office.must<{ items: { id: string }[] }>(`GET /tasks/${taskId}/participants`);
        await office.must(`POST /tasks/${taskId}/decisions`, { decision: 'approved', seat_id: items[0]!.id });
      },
    ],
    ['another step', ({ taskId }) => office.must(`PATCH /tasks/${taskId}`, { state: 'in_progress' })],
    ['a new entry of the step', ({ taskId }) => office.rows(`update tasks set step_entered_at = now() where id = $1`, taskId)],
  ])('%s keeps it', async (_name, change) => {
    const found = await waiting();
    await change(found);
    expect([await part(StallTeller).decisionWaiting(found, stallOf(found)), await stalls()]).toEqual([false, []]);
  });

  it('a turn that spoke, or ended, is not told as quiet', async () => {
    const taskId = await office.task(workspaceId, { assignee_agent_instance_id: worker });
    const run = await office.startPair(workspaceId, worker, taskId);
    const see = (quietMs: number) =>
      part(RunOwnership).renew({ hostId: office.hostId, bootId: office.bootId, leaseSec: 120 }, [
        { runId: run.runId, generation: run.generation, quietMs, processAlive: true, currentTool: null, awaitsPermission: false },
      ]);
    await see(400_000);
    const [found] = await part(QuietTurns).list({ after: null, take: 10, workspaceId }, 300_000);
    const stall: ToldStall = { workspaceId, kind: 'quiet_run', run_id: run.runId, age_ms: 1 };
    await see(0);
    expect(await part(StallTeller).quietRun(found!, stall)).toBe(false);
    await office.complete(run);
    expect([await part(StallTeller).quietRun(found!, stall), await stalls()]).toEqual([false, []]);
  });
});

describe('between the look and the reclaim', () => {
  let workflow_id: string;
  beforeEach(async () => {
    const steps = [
      { name: 'Do', kind: 'work' },
      { name: 'More', kind: 'work' },
      { name: 'End', kind: 'done' },
    ];
    workflow_id = (
      await office.must<{ id: string }>(`POST /workspaces/${workspaceId}/workflows`, { name: 'Board', style: 'kanban', steps })
    ).id;
  });
  const lookAt = async (run: ClaimedRun) => {
    const found = await part(SignalledSessions).list({ after: null, take: 10, workspaceId }, 600_000);
    return found.find(({ sessionId }) => sessionId === run.sessionId)!;
  };
  async function stuck() {
    const taskId = await office.task(workspaceId, { assignee_agent_instance_id: worker, workflow_id });
    const run = await office.startPair(workspaceId, worker, taskId);
    const words = { summary: 'Done', handoff: null, blockers: null };
    await office.app.unitOfWork.run(workspaceId, (tx) => part(CompletionSignals).signal(tx, workspaceId, run, taskId, words));
    await office.rows(`update tasks set step_entered_at = step_entered_at - interval '1 hour' where id = $1`, taskId);
    await office.rows(`update task_sessions set signaled_at = signaled_at - interval '11 minutes' where id = $1`, run.sessionId);
    await quiet(run);
    return { taskId, run };
  }
  const quiet = (run: ClaimedRun) =>
    part(RunOwnership).renew({ hostId: office.hostId, bootId: office.bootId, leaseSec: 120 }, [
      { runId: run.runId, generation: run.generation, quietMs: 700_000, processAlive: true, currentTool: null, awaitsPermission: false },
    ]);
  const stopped = () => office.rows(`select from runs where workspace_id = $1 and stop_requested_at is not null`, workspaceId);

  it('a turn that started meanwhile, silent and signalled as it may be, is not the one that was stuck', async () => {
    const { taskId, run } = await stuck();
    const found = await lookAt(run);
    await office.interrupt(run);
    await office.must(`POST /tasks/${taskId}/sessions/${run.sessionId}/resume`);
    const next = await office.startPair(workspaceId, worker, taskId);
    await quiet(next);
    await part(SignalReclaimer).reclaim(found, 'candidate');
    expect(await stopped()).toEqual([]);
    await part(SignalReclaimer).reclaim(await lookAt(next), 'candidate');
    expect(await stopped()).toHaveLength(1);
  });

  it('a turn that has ended keeps its end, and the signal is applied by it, once', async () => {
    const { taskId, run } = await stuck();
    const found = await lookAt(run);
    await office.complete(run);
    for (const gate of ['candidate', 'waiting_reconcile'] as const) await part(SignalReclaimer).reclaim(found, gate);
    const { step } = await office.must<{ step: { name: string } }>(`GET /tasks/${taskId}`);
    expect([await stopped(), step.name]).toEqual([[], 'More']);
  });

  it('of two servers that reclaim at once one does', async () => {
    const { taskId, run } = await stuck();
    await office.must(`POST /runs/${run.runId}/cancel`);
    await office.settle(run, { kind: 'stopped', reason: 'cancelled_by_person' });
    await office.rows(`update runs set finished_at = now() - interval '11 minutes' where id = $1`, run.runId);
    const found = await lookAt(run);
    await Promise.all([1, 2, 3].map(() => part(SignalReclaimer).reclaim(found, 'waiting_reconcile')));
    const { step } = await office.must<{ step: { name: string } }>(`GET /tasks/${taskId}`);
    expect(step.name).toBe('More');
  });
});

it('a task that has stood at its gate for exactly an hour is no candidate, a millisecond longer it is', async () => {
  const { taskId } = await waiting();
  const found = await office.app.unitOfWork.run(workspaceId, async (tx) => {
    const lists: number[] = [];
    for (const ms of [HOUR, HOUR + 1]) {
      await tx.query(`update tasks set step_entered_at = now() - make_interval(secs => $2::float8 / 1000) where id = $1`, [taskId, ms]);
      lists.push((await part(TasksAtGates).list(page(), HOUR, tx)).length);
    }
    return lists;
  });
  expect(found).toEqual([0, 1]);
});

it('candidates are found along their index, however many tasks there are', async () => {
  await manyTasks(office.app.dataSource, { workspaceId, tasks: 30_000, atGate: 300, holderId: worker });
  await office.rows('analyze tasks');
  const explained = await office.rows<{ 'QUERY PLAN': string }>(`explain ${AT_GATES}`, HOUR, null, null, 500);
  const plan = explained.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('using tasks_waiting_at_gate on tasks task');
  expect(plan).not.toContain('Seq Scan on tasks');
  expect(await part(TasksAtGates).list({ ...page(), take: 500 }, HOUR)).toHaveLength(300);
});
