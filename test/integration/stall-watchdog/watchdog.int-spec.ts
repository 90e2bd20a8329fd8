import { ScheduleModule } from '@nestjs/schedule';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import { RunOwnership } from '../../../src/runs/run-ownership.service.js';
import { CompletionSignals } from '../../../src/sessions/completion-signals.service.js';
import { StallWatchdogModule } from '../../../src/stall-watchdog/stall-watchdog.module.js';
import { StallWatchdog } from '../../../src/stall-watchdog/stall-watchdog.service.js';
import { RecoveryOffice } from '../../support/recovery-office.js';

const NEVER_BY_ITSELF = { OFFICE_WATCHDOG_CRON: '0 0 0 29 2 *' };
const PLANTED = ['the prompt nobody may see', 'the output nobody may see', 'the note nobody may see'];

let office: RecoveryOffice;
let workspaceId: string;
let worker: string;
let steps: Record<string, string>;

beforeAll(async () => void (office = await RecoveryOffice.open(NEVER_BY_ITSELF, [ScheduleModule.forRoot(), StallWatchdogModule])));
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
  worker = await office.agent(workspaceId, { name: 'Wanda' });
  steps = await stepsOf(0);
});

async function stepsOf(place: number): Promise<Record<string, string>> {
  const { items } = await office.must<{ items: { steps: { id: string; name: string }[] }[] }>(`GET /workspaces/${workspaceId}/workflows`);
  return Object.fromEntries(items[place]!.steps.map(({ name, id }) => [name, id]));
}

const tick = () => office.app.app.get(StallWatchdog, { strict: false }).tick();
const stalls = async () => (await office.must<{ items: Record<string, unknown>[] }>(`GET /workspaces/${workspaceId}/stalls`)).items;
const kinds = async () => (await stalls()).map(({ kind }) => kind);
const told = () =>
  office.rows<{ payload: Record<string, unknown> }>(
    `select payload from office_events where workspace_id = $1 and action = 'office.stall' order by seq`,
    workspaceId,
  );
const warnings = (taskId: string) =>
  office.app.log
    .filter((line) => line.includes('office stall watchdog') && line.includes(taskId))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const age = (sql: string, ...parameters: unknown[]) => office.rows(sql, ...parameters);
const put = (taskId: string, body: Record<string, unknown>) =>
  office.must(`PUT /tasks/${taskId}/participants`, { role: 'approver', step_id: steps['Approval'], ...body });
const watch = (
  run: ClaimedRun,
  about: Partial<{ quietMs: number | null; currentTool: string | null; awaitsPermission: boolean; processAlive: boolean }> = {},
) =>
  office.app.app.get(RunOwnership, { strict: false }).renew({ hostId: office.hostId, bootId: office.bootId, leaseSec: 120 }, [
    {
      runId: run.runId,
      generation: run.generation,
      quietMs: 0,
      processAlive: true,
      currentTool: null,
      awaitsPermission: false,
      ...about,
    },
  ]);
const signal = (run: ClaimedRun) =>
  office.app.unitOfWork.run(workspaceId, (tx) =>
    office.app.app
      .get(CompletionSignals, { strict: false })
      .signal(tx, workspaceId, run, run.taskId!, { summary: PLANTED[1]!, handoff: PLANTED[2]!, blockers: null }),
  );
/** A task at Approval for 61 minutes, waiting for a person. */
async function waiting(
  about: { minutes?: number; seat?: Record<string, unknown> | null; task?: Record<string, unknown> } = {},
): Promise<string> {
  const taskId = await office.task(workspaceId, { description: PLANTED[0], ...about.task });
  if (about.seat !== null)
    await put(taskId, { agent_id: await office.agent(workspaceId, { name: 'Ada', role: 'reviewer' }), ...about.seat });
  await office.must(`POST /tasks/${taskId}/advance`, { to_step_id: steps['Approval'] });
  await office.rows(
    `update runs set status = 'cancelled', cancel_reason = 'cancelled_by_person', finished_at = now() where task_id = $1`,
    taskId,
  );
  await age(`update tasks set step_entered_at = now() - make_interval(mins => $2) where id = $1`, taskId, about.minutes ?? 61);
  return taskId;
}
const running = async (about: Record<string, unknown> = {}) => {
  const taskId = await office.task(workspaceId, { assignee_agent_instance_id: worker, description: PLANTED[0], ...about });
  return { taskId, run: await office.startPair(workspaceId, worker, taskId) };
};
/** A signal of 11 minutes ago in a turn that has said nothing since, as its owner sees it. */
async function stranded(about: Record<string, unknown> = {}) {
  const pair = await running(about);
  await signal(pair.run);
  await age(`update tasks set step_entered_at = step_entered_at - interval '1 hour' where id = $1`, pair.taskId);
  await age(`update task_sessions set signaled_at = signaled_at - interval '11 minutes' where id = $1`, pair.run.sessionId);
  await watch(pair.run, { quietMs: 660_000, currentTool: PLANTED[1]! });
  return pair;
}

describe('a task that waits for a decision', () => {
  it('is shown with who has not decided, logged, counted and told, once', async () => {
    const taskId = await waiting();
    const before = await office.row(`select * from tasks where id = $1`, taskId);
    await tick();
    await tick();
    expect(await stalls()).toEqual([
      expect.objectContaining({
        kind: 'decision_waiting',
        task_id: taskId,
        step_id: steps['Approval'],
        evidence: null,
        seats: [expect.objectContaining({ name: 'Ada', role: 'approver' })],
      }),
    ]);
    expect((await told()).map(({ payload }) => payload)).toEqual([
      { kind: 'decision_waiting', change: 'opened', task_id: taskId, step_id: steps['Approval'], age_ms: expect.any(Number) },
    ]);
    expect(warnings(taskId)).toEqual([
      expect.objectContaining({
        level: 'warn',
        msg: 'office stall watchdog: Office task is waiting on a decision that has not been recorded',
        task_id: taskId,
        step_id: steps['Approval'],
        task_updated_at: expect.any(String),
        quiet_for: expect.any(Number),
        threshold: 3_600_000,
      }),
    ]);
    expect(await office.row(`select * from tasks where id = $1`, taskId)).toEqual(before);
  });

  it.each<[string, Parameters<typeof waiting>[0], string[]]>([
    ['nobody sits there', { seat: null }, []],
    ['the seat is advisory', { seat: { decision_required: false } }, []],
    ['it is a watcher’s', { seat: { role: 'watcher' } }, []],
    ['it has stood there not long enough', { minutes: 59 }, []],
    ['it has stood there just too long', { minutes: 61 }, ['decision_waiting']],
  ])('is one when %s: %o', async (_name, about, expected) => {
    await waiting(about);
    expect(await kinds()).toEqual(expected);
  });

  it('is judged by its own seat before the step’s', async () => {
    const ada = await office.agent(workspaceId, { name: 'Ada', role: 'reviewer' });
    await office.rows(
      `insert into workflow_step_participants (id, workspace_id, step_id, agent_id, role, decision_required) values ($1, $2, $3, $4, 'approver', true)`,
      newId(),
      workspaceId,
      steps['Approval'],
      ada,
    );
    const [, excused] = [await waiting({ seat: null }), await waiting({ seat: null })];
    expect(await kinds()).toHaveLength(2);
    await office.rows(
      `insert into workflow_step_participants (id, workspace_id, step_id, task_id, agent_id, role, decision_required) values ($1, $2, $3, $4, $5, 'watcher', false)`,
      newId(),
      workspaceId,
      steps['Approval'],
      excused,
      ada,
    );
    expect(await kinds()).toHaveLength(1);
  });

  it.each(['queued', 'scheduled_retry', 'running'] as const)('is none while a run of it is %s', async (status) => {
    const taskId = await waiting();
    const lease = status === 'running';
    await office.rows(
      `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, lease_host_id, lease_boot_id, lease_expires_at)
       values ($1, $2, $3, $4, $5, 'mentioned', 1, 'none', $6, $7, case when $6::uuid is not null then now() + interval '1 minute' end)`,
      newId(),
      workspaceId,
      worker,
      taskId,
      status,
      lease ? office.hostId : null,
      lease ? office.bootId : null,
    );
    await tick();
    expect([await kinds(), await told()]).toEqual([[], []]);
    await office.rows(
      `update runs set status = 'cancelled', cancel_reason = 'cancelled_by_person', finished_at = now(), lease_host_id = null, lease_boot_id = null, lease_expires_at = null
        where task_id = $1 and status = $2`,
      taskId,
      status,
    );
    await tick();
    expect(await kinds()).toEqual(['decision_waiting']);
  });

  it('is none when it is archived, over, or not the Office’s', async () => {
    const archived = await waiting();
    await office.must(`PATCH /tasks/${archived}`, { archived: true });
    const cancelled = await waiting();
    await office.must(`PATCH /tasks/${cancelled}`, { state: 'cancelled' });
    const { id } = await office.must<{ id: string }>(`POST /workspaces/${workspaceId}/workflows`, {
      name: 'Board',
      style: 'kanban',
      steps: [
        { name: 'Do', kind: 'work' },
        { name: 'Approval', kind: 'approval' },
      ],
    });
    const office_steps = steps;
    steps = await stepsOf(1);
    await waiting({ task: { workflow_id: id } });
    steps = office_steps;
    expect(await kinds()).toEqual([]);
  });

  it('counts from its entry of the step, whatever was edited since', async () => {
    const taskId = await waiting();
    await office.must(`PATCH /tasks/${taskId}`, { title: 'Another name', priority: 4 });
    expect(await kinds()).toEqual(['decision_waiting']);
  });

  it('is none any more once it is decided, and one again when that was superseded by rework', async () => {
    const me = (await office.must<{ user: { id: string } }>('GET /me')).user.id;
    const taskId = await waiting({ seat: { agent_id: undefined, user_id: me } });
    const bea = await office.agent(workspaceId, { name: 'Bea', role: 'reviewer' });
    await put(taskId, { agent_id: bea });
    await office.rows(
      `update runs set status = 'cancelled', cancel_reason = 'cancelled_by_person', finished_at = now() where task_id = $1 and status = 'queued'`,
      taskId,
    );
    await tick();
    await office.must(`POST /tasks/${taskId}/decisions`, { decision: 'changes_requested' });
    const [{ seats }] = (await stalls()) as [{ seats: { name: string }[] }];
    expect(seats.map(({ name }) => name)).toEqual(['Bea']);
    const seat = (await office.must<{ items: { id: string; name: string }[] }>(`GET /tasks/${taskId}/participants`)).items.find(
      ({ name }) => name === 'Bea',
    )!;
    await office.must(`POST /tasks/${taskId}/decisions`, { decision: 'approved', seat_id: seat.id });
    expect([await kinds(), (await office.must<{ step: { name: string } }>(`GET /tasks/${taskId}`)).step.name]).toEqual([[], 'Work']);
    await tick();
    await office.must(`POST /tasks/${taskId}/advance`, { to_step_id: steps['Approval'] });
    await office.rows(
      `update runs set status = 'cancelled', cancel_reason = 'cancelled_by_person', finished_at = now() where task_id = $1 and status = 'queued'`,
      taskId,
    );
    await age(`update tasks set step_entered_at = now() - interval '61 minutes' where id = $1`, taskId);
    await tick();
    expect((await told()).map(({ payload }) => payload['change'])).toEqual(['opened', 'ended', 'opened']);
  });
});

describe('a stranded signal', () => {
  it.each([
    ['candidate', async () => undefined],
    [
      'waiting_reconcile',
      async (run: ClaimedRun) => {
        await office.fail(run);
        await age(`update runs set finished_at = now() - interval '11 minutes' where id = $1`, run.runId);
      },
    ],
  ] as const)('of an Office task is shown at the gate %s, and its task, session and run stay as they are', async (gate, then) => {
    const { taskId, run } = await stranded();
    await then(run);
    const rows = () =>
      Promise.all(
        ['tasks', 'task_sessions', 'runs'].map((table) =>
          office.rows(`select * from ${table} where workspace_id = $1 order by id`, workspaceId),
        ),
      );
    const before = await rows();
    await tick();
    await tick();
    expect(await rows()).toEqual(before);
    expect((await told()).map(({ payload }) => payload).filter(({ kind }) => kind === 'stranded_signal')).toEqual([
      expect.objectContaining({ change: 'opened', task_id: taskId, session_id: run.sessionId, step_id: steps['Work'] }),
    ]);
    expect(warnings(taskId)).toEqual([
      expect.objectContaining({
        msg: 'office stall watchdog: Office task holds a stranded completion signal',
        task_id: taskId,
        session_id: run.sessionId,
        step_id: steps['Work'],
        signal_age: expect.any(Number),
        gate,
      }),
    ]);
    expect((await stalls()).find(({ kind }) => kind === 'stranded_signal')).toMatchObject({
      gate,
      evidence: gate === 'candidate' ? { process_alive: true, current_tool: PLANTED[1] } : { process_alive: null },
    });
  });

  it.each<[string, (pair: Awaited<ReturnType<typeof stranded>>) => Promise<unknown>]>([
    ['there is content', ({ run }) => watch(run, { quietMs: 1_000 })],
    [
      'its owner has not been heard of for a lease',
      ({ run }) => age(`update runs set evidence_at = now() - interval '121 seconds' where id = $1`, run.runId),
    ],
    ['it is passthrough', ({ run }) => age(`update task_sessions set is_passthrough = true where id = $1`, run.sessionId)],
    ['it is of an earlier visit', ({ taskId }) => age(`update tasks set step_entered_at = now() where id = $1`, taskId)],
    ['it is young', ({ run }) => age(`update task_sessions set signaled_at = now() - interval '599 seconds' where id = $1`, run.sessionId)],
    ['its task is over', ({ taskId }) => age(`update tasks set state = 'CANCELLED' where id = $1`, taskId)],
  ])('is none when %s', async (_name, change) => {
    const pair = await stranded();
    await change(pair);
    expect((await kinds()).filter((kind) => kind === 'stranded_signal')).toEqual([]);
  });
});

describe('a task that is not the Office’s', () => {
  let workflow_id: string;
  beforeEach(async () => {
    const made = await office.must<{ id: string }>(`POST /workspaces/${workspaceId}/workflows`, {
      name: 'Board',
      style: 'kanban',
      steps: [
        { name: 'Do', kind: 'work' },
        { name: 'More', kind: 'work' },
        { name: 'End', kind: 'done' },
      ],
    });
    workflow_id = made.id;
  });
  const where = async (taskId: string) => {
    const { state, step } = await office.must<{ state: string; step: { name: string } }>(`GET /tasks/${taskId}`);
    return `${state} at ${step.name}`;
  };
  const sessionOf = (run: ClaimedRun) =>
    office.row<{ state: string; signal: unknown }>(`select state, signal from task_sessions where id = $1`, run.sessionId);

  it('has its stuck turn closed, exactly that one, and its signal applied once', async () => {
    const { taskId, run } = await stranded({ workflow_id });
    const other = await running({ workflow_id });
    await tick();
    await tick();
    const stops = await office.rows(
      `select id, stop_requested_reason from runs where workspace_id = $1 and stop_requested_at is not null`,
      workspaceId,
    );
    expect(stops).toEqual([{ id: run.runId, stop_requested_reason: 'signal_reclaimed' }]);
    expect(await where(taskId)).toBe('IN_PROGRESS at Do');
    await office.settle(run, { kind: 'stopped', reason: 'signal_reclaimed' });
    expect([await where(taskId), await sessionOf(run)]).toEqual(['IN_PROGRESS at More', { state: 'WAITING_FOR_INPUT', signal: null }]);
    await tick();
    expect([await where(taskId), await where(other.taskId), await told()]).toEqual(['IN_PROGRESS at More', 'IN_PROGRESS at Do', []]);
  });

  it('keeps a turn that started meanwhile', async () => {
    const { taskId, run } = await stranded({ workflow_id });
    const found = office.app.app.get(StallWatchdog, { strict: false });
    // Ended and started again between the look and the act: the generation and the evidence are another's.
    await office.settle(run, { kind: 'interrupted', cause: 'host_restart' });
    await office.must(`POST /tasks/${taskId}/sessions/${run.sessionId}/resume`);
    const next = await office.startPair(workspaceId, worker, taskId);
    await found.tick();
    expect(await office.rows(`select from runs where stop_requested_at is not null and id = $1`, next.runId)).toEqual([]);
    await watch(next, { quietMs: 0 });
    await found.tick();
    expect(await office.rows(`select from runs where stop_requested_at is not null and id = $1`, next.runId)).toEqual([]);
  });

  it('that waits for input gets its signal, once, without any turn', async () => {
    const { taskId, run } = await stranded({ workflow_id });
    await office.must(`POST /runs/${run.runId}/cancel`);
    await office.settle(run, { kind: 'stopped', reason: 'cancelled_by_person' });
    expect([await where(taskId), (await sessionOf(run)).state]).toEqual(['IN_PROGRESS at Do', 'WAITING_FOR_INPUT']);
    await age(`update runs set finished_at = now() - interval '11 minutes' where id = $1`, run.runId);
    await tick();
    await tick();
    expect([await where(taskId), await sessionOf(run)]).toEqual(['IN_PROGRESS at More', { state: 'WAITING_FOR_INPUT', signal: null }]);
  });
});

describe('a quiet turn', () => {
  it('is shown once for each attempt with what is known of it, and is over when its agent speaks', async () => {
    const { taskId, run } = await running();
    await watch(run, { quietMs: 301_000, currentTool: 'cargo test' });
    await tick();
    await tick();
    expect(await stalls()).toEqual([
      expect.objectContaining({
        kind: 'quiet_run',
        task_id: taskId,
        run_id: run.runId,
        evidence: { last_content_at: expect.any(String), process_alive: true, current_tool: 'cargo test' },
      }),
    ]);
    await watch(run, { quietMs: 100 });
    await tick();
    expect((await told()).map(({ payload }) => [payload['kind'], payload['change'], payload['run_id']])).toEqual([
      ['quiet_run', 'opened', run.runId],
      ['quiet_run', 'ended', run.runId],
    ]);
  });

  it.each([
    ['it waits for a permission', { quietMs: 301_000, awaitsPermission: true }],
    ['it is not quiet for long', { quietMs: 299_000 }],
  ])('is none when %s', async (_name, seen) => {
    const { run } = await running();
    await watch(run, seen);
    expect(await kinds()).toEqual([]);
  });

  it('is none when nobody knows, and that is counted', async () => {
    const { run } = await running();
    await watch(run, { quietMs: 301_000 });
    await age(`update runs set evidence_at = now() - interval '121 seconds' where id = $1`, run.runId);
    await tick();
    expect([await kinds(), await told()]).toEqual([[], []]);
    const metrics = await office.app.ask('GET /metrics', { token: office.token });
    expect(/office_stall_detector_skipped_total\{reason="evidence_unknown"\} [1-9]/.test(metrics.text)).toBe(true);
    await age(`update runs set evidence_at = now() where id = $1`, run.runId);
    await office.complete(run);
  });

  it('is forgotten by the next attempt of its run', async () => {
    const { run } = await running();
    await watch(run, { quietMs: 301_000 });
    const evidence = () => office.row(`select evidence_at, last_content_at, process_alive from runs where id = $1`, run.runId);
    await age(
      `update runs set status = 'queued', lease_host_id = null, lease_boot_id = null, lease_expires_at = null where id = $1`,
      run.runId,
    );
    await age(`update task_sessions set state = 'IDLE' where id = $1`, run.sessionId);
    await office.claim(workspaceId);
    expect(await evidence()).toEqual({ evidence_at: null, last_content_at: null, process_alive: null });
  });
});

it('carries ids and durations only: none of what was planted is in a log, an event or a metric', async () => {
  await waiting();
  await stranded();
  await tick();
  const { text } = await office.app.ask('GET /metrics', { token: office.token });
  const lines = office.app.log.filter((line) => line.includes('office stall watchdog'));
  expect(lines.length).toBeGreaterThanOrEqual(2);
  const everything = [...lines, JSON.stringify(await told()), text].join('\n');
  for (const words of PLANTED) expect(everything).not.toContain(words);
});

it('members see stalls, strangers nothing', async () => {
  expect((await office.ask(`GET /workspaces/${newId()}/stalls`)).status).toBe(404);
  expect(await stalls()).toEqual([]);
});
