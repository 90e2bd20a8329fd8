import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import type { Evidence } from '../../../src/execution/agent-runtime.js';
import { AnOffice } from '../../support/an-office.js';
import { BAD_KEY, failureOf, OVERLOADED } from '../../support/failing-runs.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
});

type Pair = { agentId: string; taskId: string };
const runRow = (run: ClaimedRun) =>
  office.row<Record<string, unknown>>(
    `select r.status, r.retry_count, r.error_code, r.error_class, r.error_message, r.lease_host_id, r.finished_at, r.merged_into, r.cancel_reason,
            s.state as session, t.state as task, a.consecutive_failures as failures,
            round(extract(epoch from r.due_at - clock_timestamp()))::int as due_in
       from runs r join task_sessions s on s.id = r.session_id join tasks t on t.id = r.task_id join agent_instances a on a.id = r.agent_id
      where r.id = $1`,
    run.runId,
  );
const items = async (agentId: string): Promise<number> =>
  (
    await office.rows(
      `select from office_events where workspace_id = $1 and action = 'office.inbox_item' and payload ->> 'agent_id' = $2`,
      workspaceId,
      agentId,
    )
  ).length;
const makeDue = (run: ClaimedRun) => office.change(`update runs set due_at = now() where id = $1`, run.runId);
const again = async (run: ClaimedRun): Promise<ClaimedRun> => {
  await makeDue(run);
  const { claimed } = await office.claim(workspaceId);
  const next = claimed.find(({ runId }) => runId === run.runId)!;
  await office.ownership.markLaunched(next);
  await office.ownership.markStarted(next, next.acpSessionId ?? `acp-${next.sessionId}`);
  return next;
};
const failing = async (pair: Pair, payload = OVERLOADED, about: Partial<Evidence> = {}) => {
  const run = await office.started(workspaceId, pair);
  return { run, settled: await office.settlement.settle(run, failureOf(run, payload, about)) };
};

describe('a first failure for a passing reason', () => {
  it('waits on its own row and touches neither counter, task nor inbox', async () => {
    const pair = await office.pair(workspaceId);
    const { run, settled } = await failing(pair);
    expect(settled).toBe('scheduled_retry');
    expect(await runRow(run)).toMatchObject({
      status: 'scheduled_retry',
      retry_count: 1,
      error_code: 'overloaded',
      error_class: 'transient',
      error_message: OVERLOADED,
      lease_host_id: null,
      finished_at: null,
      session: 'IDLE',
      task: 'IN_PROGRESS',
      failures: 0,
      due_in: 5,
    });
    expect(await items(pair.agentId)).toBe(0);
    expect(
      await office.row(
        `select outcome, error_payload, error_code, error_class, rule, evidence ->> 'phase' as phase from run_attempts where run_id = $1`,
        run.runId,
      ),
    ).toEqual({
      outcome: 'error',
      error_payload: OVERLOADED,
      error_code: 'overloaded',
      error_class: 'transient',
      rule: 'claude.overloaded',
      phase: 'prompt',
    });
    expect(await office.rows(`select event_type from office_run_events where run_id = $1`, run.runId)).toEqual([
      { event_type: 'run.retry_scheduled' },
    ]);
  });

  it('is told, with what it waits for', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    const told = await office.rows<{ payload: Record<string, unknown> }>(
      `select payload from office_events where workspace_id = $1 and action = 'office.wakeup.updated' order by seq desc limit 1`,
      workspaceId,
    );
    expect(told[0]!.payload).toMatchObject({ wakeup_id: run.runId, status: 'scheduled_retry', waiting_on: 'retry_scheduled' });
  });

  it('is claimed again when it is due and not before, and is told to look at what is done', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
    const next = await again(run);
    expect(next).toMatchObject({ runId: run.runId, generation: 2, attempt: 2 });
    expect(next.prompt.turn).toContain('Check what is done');
    expect(await office.row(`select error_message, error_code from runs where id = $1`, run.runId)).toEqual({
      error_message: null,
      error_code: null,
    });
  });

  it('completes afterwards as if nothing had been', async () => {
    const pair = await office.pair(workspaceId);
    const next = await again((await failing(pair)).run);
    await office.settlement.settle(next, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
    expect(await runRow(next)).toMatchObject({ status: 'completed', retry_count: 1, failures: 0 });
    expect(await items(pair.agentId)).toBe(0);
  });

  it('holds back 5 s, then 10 s, and counts once, the third time', async () => {
    const pair = await office.pair(workspaceId);
    const second = await again((await failing(pair)).run);
    expect(await office.settlement.settle(second, failureOf(second))).toBe('scheduled_retry');
    expect(await runRow(second)).toMatchObject({ retry_count: 2, due_in: 10, failures: 0 });
    const third = await again(second);
    expect(await office.settlement.settle(third, failureOf(third))).toBe('failed');
    expect(await runRow(third)).toMatchObject({
      status: 'failed',
      retry_count: 2,
      failures: 1,
      session: 'FAILED',
      task: 'REVIEW',
      error_code: 'overloaded',
    });
    expect(await items(pair.agentId)).toBe(1);
  });

  it('is settled once: a second report changes nothing', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    expect(await office.settlement.settle(run, failureOf(run))).toBe('scheduled_retry');
    expect(await office.settlement.settle(run, failureOf(run, '{"message":"another"}'))).toBe('stale');
    expect(await runRow(run)).toMatchObject({ retry_count: 1 });
  });
});

describe('no retry', () => {
  it.each([
    ['what lasts', BAD_KEY, {}, 'hard', 'auth'],
    ['what nobody knows', '{"code":-32603,"message":"hm"}', {}, 'unclassified', 'unknown'],
    ['output', OVERLOADED, { outputSeen: true }, 'transient', 'overloaded'],
    ['an effect', OVERLOADED, { effectSeen: true }, 'transient', 'overloaded'],
    ['another execution', OVERLOADED, { executionId: newId() }, 'transient', 'overloaded'],
    ['another conversation', OVERLOADED, { acpSessionId: 'somebody-elses' }, 'transient', 'overloaded'],
    ['a complaint that contradicts', OVERLOADED, { stderrTail: 'Invalid API key' }, 'transient', 'overloaded'],
    ['a lost transport', '{"kind":"transport_closed","stderr_tail":""}', {}, 'transient', 'transport_lost'],
  ] as const)('after %s: it fails at once and counts', async (_what, payload, about, errorClass, code) => {
    const pair = await office.pair(workspaceId);
    const { run, settled } = await failing(pair, payload, about);
    expect(settled).toBe('failed');
    expect(await runRow(run)).toMatchObject({ status: 'failed', retry_count: 0, failures: 1, error_class: errorClass, error_code: code });
  });

  it('of a turn that took too long, whatever it said', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    const { evidence } = failureOf(run) as { evidence: Evidence };
    expect(await office.settlement.settle(run, { kind: 'timed_out', payload: OVERLOADED, evidence })).toBe('timed_out');
  });

  it('after an action the office accepted from this very attempt', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.ownership.note(run, 'runtime.action', 'info', { action: 'post_comment' });
    expect(await office.settlement.settle(run, failureOf(run))).toBe('failed');
  });

  it('of a run that would be too old when it is due', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.change(`update runs set requested_at = now() - interval '2 hours' + interval '4 seconds' where id = $1`, run.runId);
    expect(await office.settlement.settle(run, failureOf(run))).toBe('failed');
  });

  it('of a run that somebody stops: that is what it ends as', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.db.unitOfWork.run(workspaceId, (tx) => office.stops.askToStop(tx, { runId: run.runId }, 'cancelled_by_person'));
    expect(await office.settlement.settle(run, failureOf(run))).toBe('cancelled');
  });
});

describe('before the launch', () => {
  it('has delays of its own and shares the counter', async () => {
    const pair = await office.pair(workspaceId);
    const { run, settled } = await failing(pair, OVERLOADED, { phase: 'session' });
    expect(settled).toBe('scheduled_retry');
    const { due_in } = (await runRow(run)) as { due_in: number };
    expect(due_in).toBeGreaterThanOrEqual(119);
    expect(due_in).toBeLessThanOrEqual(151);
    const second = await again(run);
    expect(await office.settlement.settle(second, failureOf(second))).toBe('scheduled_retry');
    expect(await runRow(second)).toMatchObject({ retry_count: 2, due_in: 10 });
    const third = await again(second);
    expect(await office.settlement.settle(third, failureOf(third))).toBe('failed');
  });
});

describe('a run that waits for its retry', () => {
  it('is joined by a person’s wake, which makes it due now', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    expect(await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId }, reason: 'user_comment' })).toEqual({
      outcome: 'coalesced',
      runId: run.runId,
    });
    expect((await office.claim(workspaceId)).claimed.map(({ runId }) => runId)).toEqual([run.runId]);
  });

  it('is not hurried by anybody else’s', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    expect(await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } })).toMatchObject({
      outcome: 'coalesced',
      runId: run.runId,
    });
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
  });

  it('gives way to a run of the pair that waits already, which remembers the retry', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    const queued = await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    expect(await office.settlement.settle(run, failureOf(run))).toBe('merged');
    expect(await runRow(run)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'merged',
      merged_into: 'runId' in queued && queued.runId,
      failures: 0,
    });
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
    await office.change(`update runs set due_at = now() where agent_id = $1 and status = 'queued'`, pair.agentId);
    const [survivor] = (await office.claim(workspaceId)).claimed;
    expect(survivor).toMatchObject({ runId: 'runId' in queued && queued.runId, attempt: 2 });
    expect((await office.rows(`select from wake_requests where run_id = $1`, survivor!.runId)).length).toBe(2);
  });

  it('does not hold back a person who waits already', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId }, reason: 'user_comment' });
    expect(await office.settlement.settle(run, failureOf(run))).toBe('merged');
    expect((await office.claim(workspaceId)).claimed).toHaveLength(1);
  });

  it('goes on waiting as a retry when its next claim is interrupted before the launch', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    await makeDue(run);
    const [next] = (await office.claim(workspaceId)).claimed;
    expect(await office.settlement.settle(next!, { kind: 'interrupted', cause: 'host_restart' })).toBe('queued');
    expect(await runRow(run)).toMatchObject({ status: 'scheduled_retry', retry_count: 1 });
  });

  it('is cancelled with what it was for', async () => {
    const pair = await office.pair(workspaceId);
    const { run } = await failing(pair);
    await office.db.unitOfWork.run(workspaceId, (tx) => office.stops.cancelWaiting(tx, { taskId: pair.taskId }, 'assignee_changed'));
    expect(await runRow(run)).toMatchObject({ status: 'cancelled', cancel_reason: 'assignee_changed' });
  });
});

describe('run_too_old', () => {
  const old = async (pair: Pair): Promise<ClaimedRun> => {
    const { run } = await failing(pair);
    await office.change(`update hosts set resumed_at = now() - interval '1 day'`);
    await office.change(
      `update runs set requested_at = now() - interval '3 hours', due_at = now() - interval '2 hours' where id = $1`,
      run.runId,
    );
    await office.change(`update wake_requests set requested_at = now() - interval '3 hours' where run_id = $1`, run.runId);
    return run;
  };

  it('fails with the payload of its last attempt, counted once', async () => {
    const pair = await office.pair(workspaceId);
    const run = await old(pair);
    const { claimed, tooOld } = await office.claim(workspaceId);
    expect(claimed).toEqual([]);
    expect(tooOld.map(({ runId }) => runId)).toEqual([run.runId]);
    expect(await office.settlement.giveUp(tooOld[0]!)).toBe('failed');
    expect(await office.settlement.giveUp(tooOld[0]!)).toBe('stale');
    expect(await runRow(run)).toMatchObject({
      status: 'failed',
      error_message: OVERLOADED,
      error_code: 'overloaded',
      session: 'FAILED',
      task: 'REVIEW',
      failures: 1,
    });
    expect(await items(pair.agentId)).toBe(1);
  });

  it.each([
    ['the agent’s last pause ended', `update agent_instances set unblocked_at = now() where id = $1`],
    [
      'the workspace was started again',
      `update workspaces set unblocked_at = now() where id = (select workspace_id from agent_instances where id = $1)`,
    ],
    ['this host came back', `update hosts set resumed_at = now() where $1::uuid is not null`],
    ['a person asked for it', `update wake_requests set requested_at = now(), wake_class = 0 where agent_id = $1`],
    [
      'a hold on its provider ended',
      `insert into provider_holds (id, workspace_id, adapter, credential, summary, run_id, agent_id, reset_at, held_until, ended_at)
       select gen_random_uuid(), a.workspace_id, a.adapter, office_credential(a.adapter_config), '', r.id, a.id, now(), now(), now()
         from agent_instances a join runs r on r.agent_id = a.id where a.id = $1`,
    ],
  ])('counts from when %s', async (_what, change) => {
    const pair = await office.pair(workspaceId);
    const run = await old(pair);
    await office.change(change, pair.agentId);
    expect((await office.claim(workspaceId)).claimed.map(({ runId }) => runId)).toEqual([run.runId]);
  });

  it('waits for a host that is only just coming back', async () => {
    const pair = await office.pair(workspaceId);
    const run = await old(pair);
    await office.change(`update hosts set last_seen_at = now() - interval '1 hour'`);
    expect(await office.settlement.giveUp(run)).toBe('stale');
    await office.change(`update hosts set last_seen_at = now()`);
    expect(await office.settlement.giveUp(run)).toBe('failed');
  });

  it('is given back when a person asks for it between the look and the end', async () => {
    const pair = await office.pair(workspaceId);
    const run = await old(pair);
    const { tooOld } = await office.claim(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId }, reason: 'manual_run' });
    expect(await office.settlement.giveUp(tooOld[0]!)).toBe('stale');
    expect((await office.claim(workspaceId)).claimed.map(({ runId }) => runId)).toEqual([run.runId]);
  });

  it('never drops a run that merely waits', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    await office.change(`update runs set requested_at = now() - interval '30 days' where agent_id = $1`, pair.agentId);
    expect((await office.claim(workspaceId)).claimed).toHaveLength(1);
  });
});
