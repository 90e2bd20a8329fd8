import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/execution/agent-runtime.js';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import type { Result } from '../../../src/settlement/domain/ending.js';
import { AnOffice } from '../../support/an-office.js';
import { evidenceOf, failureOf } from '../../support/failing-runs.js';
import { lockWaits } from '../../support/gate.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open({ poolSize: 30 });
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
});

const END: Outcome = { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null };
const PAYLOAD = `{"code":-32603,"message":"Internal error","data":{"message":"model gone"}}`;
const errorOf = (run: ClaimedRun, payload = PAYLOAD): Outcome => failureOf(run, payload, { acpSessionId: run.acpSessionId });

const fail = async (pair: { agentId: string; taskId: string }): Promise<string> => {
  await office.change(
    `update task_sessions set state = 'IDLE' where agent_id = $1 and task_id = $2 and state = 'FAILED'`,
    pair.agentId,
    pair.taskId,
  );
  const run = await office.started(workspaceId, pair);
  expect(await office.settlement.settle(run, errorOf(run))).toBe('failed');
  return run.runId;
};
const agentRow = (agentId: string) =>
  office.row<{ consecutive_failures: number; pause_reason: string | null; pause_source: string | null; current_pause_id: string | null }>(
    `select consecutive_failures, pause_reason, pause_source, current_pause_id from agent_instances where id = $1`,
    agentId,
  );
const lastSeq = async (): Promise<number> =>
  Number(
    (await office.row<{ last_seq: string }>(`select last_seq from office_event_counters where workspace_id = $1`, workspaceId)).last_seq,
  );
const eventsAfter = (seq: number) =>
  office.rows<{ action: string; payload: Record<string, unknown> }>(
    `select action, payload from office_events where workspace_id = $1 and seq > $2 order by seq`,
    workspaceId,
    seq,
  );
const openItems = async (agentId: string): Promise<string[]> =>
  (
    await office.rows<{ id: string }>(
      `select r.id from runs r where r.agent_id = $1 and r.status in ('failed', 'timed_out') and r.failure_kind = 'error'
         and not exists (select from inbox_dismissals d where d.item_kind = 'agent_run_failed' and d.item_id = r.id) order by r.id`,
      agentId,
    )
  ).map(({ id }) => id);

describe('a run’s end', () => {
  it('completes: session at rest, counter zero, the pair’s failure items resolved, the last message a comment', async () => {
    const pair = await office.pair(workspaceId);
    const failed = await fail(pair);
    await office.change(`update task_sessions set state = 'IDLE' where agent_id = $1`, pair.agentId);
    const run = await office.started(workspaceId, pair);
    const seq = await lastSeq();
    const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
    expect(await office.settlement.settle(run, { kind: 'turn_ended', stopReason: 'max_tokens', usage, lastMessage: 'Done it.' })).toBe(
      'completed',
    );
    expect(
      await office.row(
        `select status, stop_reason, usage, lease_host_id, finished_at is not null as dated from runs where id = $1`,
        run.runId,
      ),
    ).toEqual({
      status: 'completed',
      stop_reason: 'max_tokens',
      usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      lease_host_id: null,
      dated: true,
    });
    expect(await office.row(`select state from task_sessions where id = $1`, run.sessionId)).toEqual({ state: 'IDLE' });
    expect((await agentRow(pair.agentId)).consecutive_failures).toBe(0);
    expect(await openItems(pair.agentId)).toEqual([]);
    expect(await office.rows(`select body, source, author_kind, run_id from task_comments where task_id = $1`, pair.taskId)).toEqual([
      { body: 'Done it.', source: 'session', author_kind: 'agent', run_id: run.runId },
    ]);
    expect(
      (await eventsAfter(seq)).map(({ action, payload }) => [action, payload.status ?? payload.state ?? payload.change ?? null]),
    ).toEqual([
      ['office.comment.created', null],
      ['office.wakeup.updated', 'completed'],
      ['office.task.session.updated', 'IDLE'],
      ['office.inbox_item', 'resolved'],
      ['office.agent.updated', 'idle'],
    ]);
    expect((await eventsAfter(seq))[3]!.payload.item_id).toBe(failed);
  });

  it('posts no last message when the run has commented on its task itself', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.change(
      `insert into task_comments (id, workspace_id, task_id, author_kind, author_id, source, run_id, body)
       values (gen_random_uuid(), $1, $2, 'agent', $3, 'agent', $4, 'said so')`,
      workspaceId,
      pair.taskId,
      pair.agentId,
      run.runId,
    );
    await office.settlement.settle(run, { ...END, lastMessage: 'Done.' });
    expect(await office.rows(`select body from task_comments where task_id = $1`, pair.taskId)).toEqual([{ body: 'said so' }]);
  });

  it.each([
    ['error', 'failed'],
    ['timed_out', 'timed_out'],
  ] as const)('%s: the payload verbatim, session FAILED, task in REVIEW, counted once, one item', async (kind, status) => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    const seq = await lastSeq();
    const result: Result = { kind, payload: PAYLOAD, evidence: evidenceOf(run, { acpSessionId: run.acpSessionId }) };
    expect(await office.settlement.settle(run, result)).toBe(status);
    expect(
      await office.row(
        `select r.status, r.error_message, r.error_summary, r.failure_kind, s.state, s.error_message as said, t.state as task, n.outcome,
                n.evidence ->> 'phase' as phase
           from runs r join task_sessions s on s.id = r.session_id join tasks t on t.id = r.task_id join run_attempts n on n.run_id = r.id
          where r.id = $1`,
        run.runId,
      ),
    ).toEqual({
      status,
      error_message: PAYLOAD,
      error_summary: 'Internal error: model gone',
      failure_kind: 'error',
      state: 'FAILED',
      said: PAYLOAD,
      task: 'REVIEW',
      outcome: kind,
      phase: 'prompt',
    });
    expect(await office.row(`select count(*)::int as executors from executors_running where session_id = $1`, run.sessionId)).toEqual({
      executors: 1,
    });
    expect((await agentRow(pair.agentId)).consecutive_failures).toBe(1);
    expect(await openItems(pair.agentId)).toEqual([run.runId]);
    expect(
      (await eventsAfter(seq)).map(({ action, payload }) => [action, payload.status ?? payload.state ?? payload.change ?? payload.fields]),
    ).toEqual([
      ['office.wakeup.updated', status],
      ['office.task.session.updated', 'FAILED'],
      ['office.task.updated', ['state']],
      ['office.inbox_item', 'opened'],
      ['office.agent.updated', 'idle'],
    ]);
  });

  it.each(['DONE', 'CANCELLED'])('leaves a task that is %s where it is', async (state) => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.change(`update tasks set state = $2 where id = $1`, pair.taskId, state);
    await office.settlement.settle(run, errorOf(run));
    expect(await office.row(`select state from tasks where id = $1`, pair.taskId)).toEqual({ state });
  });

  it('is settled once: a second result changes nothing and is kept with its attempt, once', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.settlement.settle(run, errorOf(run));
    const seq = await lastSeq();
    expect(await office.settlement.settle(run, END)).toBe('stale');
    expect(await office.settlement.settle(run, errorOf(run, '{"message":"again"}'))).toBe('stale');
    expect(await lastSeq()).toBe(seq);
    expect((await agentRow(pair.agentId)).consecutive_failures).toBe(1);
    expect(await office.row(`select late_result ->> 'kind' as late from run_attempts where run_id = $1`, run.runId)).toEqual({
      late: 'turn_ended',
    });
  });

  it('is settled once by ten at the same moment', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    const settled = await Promise.all(Array.from({ length: 10 }, () => office.settlement.settle(run, errorOf(run))));
    // An owner that asks again is told what became of it: whether its first answer was lost with a connection nobody knows.
    expect(new Set(settled)).toEqual(new Set(['failed']));
    expect((await agentRow(pair.agentId)).consecutive_failures).toBe(1);
    const told = await office.rows(
      `select seq from office_events where payload ->> 'wakeup_id' = $1 and payload ->> 'status' = 'failed'`,
      run.runId,
    );
    expect(told).toHaveLength(1);
  });

  it.each([
    ['a good end', END, 'completed', 'turn_ended'],
    ['a time-out', { kind: 'timed_out', payload: '{"kind":"timed_out"}', evidence: null } as unknown as Result, 'timed_out', 'timed_out'],
  ])(
    'answers %s again to an owner whose commit was heard and whose connection was lost, and keeps no late result',
    async (_, result, settled, outcome) => {
      const run = await office.started(workspaceId, await office.pair(workspaceId));
      expect(await office.settlement.settle(run, result)).toBe(settled);
      expect(await office.settlement.settle(run, result)).toBe(settled);
      expect(await office.row(`select outcome, late_result from run_attempts where run_id = $1`, run.runId)).toEqual({
        outcome,
        late_result: null,
      });
    },
  );

  it('writes nothing into a run that was taken away: no launch, no start, no note', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    const [run] = (await office.claim(workspaceId)).claimed;
    expect(await office.ownership.note(run!, 'session.load_failed', 'warn', {})).toBe(true);
    await office.change(
      `update runs set stop_requested_at = now(), stop_requested_reason = 'cancelled_by_person' where id = $1`,
      run!.runId,
    );
    expect(await office.ownership.markLaunched(run!)).toBe('stopping');
    await office.settlement.settle(run!, { kind: 'interrupted', cause: 'lost_lease' });
    expect(await office.ownership.markLaunched(run!)).toBe('lost');
    expect(await office.ownership.markStarted(run!, 'acp-late')).toBe(false);
    expect(await office.ownership.note(run!, 'session.load_failed', 'warn', {})).toBe(false);
    expect(await office.rows(`select seq from office_run_events where run_id = $1`, run!.runId)).toHaveLength(1);
  });

  it('tells that the agent is idle when its last two runs end at the same moment on two servers', async () => {
    const agentId = await office.agent(workspaceId, { max_concurrent_sessions: 2 });
    const runs: ClaimedRun[] = [];
    for (let n = 0; n < 2; n++) {
      const taskId = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
      runs.push(await office.started(workspaceId, { agentId, taskId }));
    }
    // Both look, and wait for the agent, before either has ended.
    const holder = office.db.dataSource.createQueryRunner();
    await holder.startTransaction();
    await holder.query(`select from agent_instances where id = $1 for update`, [agentId]);
    const ends = [office.settlement, office.anotherSettlement()].map((settlement, n) => settlement.settle(runs[n]!, END));
    await lockWaits(office, 2);
    await holder.commitTransaction();
    await holder.release();
    expect(await Promise.all(ends)).toEqual(['completed', 'completed']);
    const told = await office.rows<{ status: string }>(
      `select payload ->> 'status' as status from office_events
        where action = 'office.agent.updated' and payload ->> 'agent_id' = $1 order by seq`,
      agentId,
    );
    expect(told.map(({ status }) => status)).toEqual(['working', 'idle']);
  });

  it('is fenced: the result of an earlier generation never ends a later one', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    const [first] = (await office.claim(workspaceId)).claimed;
    await office.settlement.settle(first!, { kind: 'interrupted', cause: 'host_restart' });
    const [second] = (await office.claim(workspaceId)).claimed;
    expect(await office.settlement.settle(first!, END)).toBe('stale');
    expect(await office.ownership.markLaunched(first!)).toBe('lost');
    expect(await office.row(`select status, generation from runs where id = $1`, second!.runId)).toEqual({
      status: 'running',
      generation: 2,
    });
  });

  it.each([
    ['cancelled_by_person', 'IDLE'],
    ['interrupted_by_comment', 'IDLE'],
    ['task_cancelled', 'IDLE'],
    ['assignee_changed', 'COMPLETED'],
    ['task_deleted', 'COMPLETED'],
    ['agent_archived', 'COMPLETED'],
  ] as const)('a committed stop (%s) wins over any answer: cancelled, session %s, counter untouched', async (reason, session) => {
    for (const answer of [END, 'error'] as const) {
      const pair = await office.pair(workspaceId, { consecutive_failures: 1 });
      const run = await office.started(workspaceId, pair);
      await office.db.unitOfWork.run(workspaceId, (tx) => office.stops.askToStop(tx, { runId: run.runId }, reason));
      expect(await office.settlement.settle(run, answer === 'error' ? errorOf(run) : answer)).toBe('cancelled');
      expect(await office.row(`select status, cancel_reason, error_message from runs where id = $1`, run.runId)).toEqual({
        status: 'cancelled',
        cancel_reason: reason,
        error_message: null,
      });
      expect(await office.row(`select state from task_sessions where id = $1`, run.sessionId)).toEqual({ state: session });
      expect((await agentRow(pair.agentId)).consecutive_failures).toBe(1);
      expect(await openItems(pair.agentId)).toEqual([]);
    }
  });
});

describe('an interruption', () => {
  it('before the launch puts the run back, as if it had not been claimed', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    const [run] = (await office.claim(workspaceId)).claimed;
    expect(await office.settlement.settle(run!, { kind: 'interrupted', cause: 'host_restart' })).toBe('queued');
    expect(await office.row(`select status, lease_host_id from runs where id = $1`, run!.runId)).toEqual({
      status: 'queued',
      lease_host_id: null,
    });
    expect(await office.rows(`select id from interruptions where workspace_id = $1`, workspaceId)).toEqual([]);
    expect((await office.claim(workspaceId)).claimed).toHaveLength(1);
  });

  it('before the launch merges into a run that waits already: no wake is lost, and the pair has one waiting run', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId }, reason: 'manual_run', note: 'first' });
    const [run] = (await office.claim(workspaceId)).claimed;
    const next = await office.wake(workspaceId, {
      agentId: pair.agentId,
      on: { taskId: pair.taskId },
      reason: 'agent_comment',
      note: 'second',
    });
    if (next.outcome === 'refused') throw new Error('refused');
    expect(await office.settlement.settle(run!, { kind: 'interrupted', cause: 'host_restart' })).toBe('merged');
    expect(await office.row(`select status, cancel_reason, merged_into from runs where id = $1`, run!.runId)).toEqual({
      status: 'cancelled',
      cancel_reason: 'merged',
      merged_into: next.runId,
    });
    const [again] = (await office.claim(workspaceId)).claimed;
    expect(again!.runId).toBe(next.runId);
    expect(again!.prompt.turn).toMatch(/first[^]*second/);
  });

  it('after the launch fails it, uncounted, with one row for all runs of the boot', async () => {
    const pairs = await Promise.all([office.pair(workspaceId, { consecutive_failures: 2 }), office.pair(workspaceId)]);
    const runs = [];
    for (const pair of pairs) runs.push(await office.started(workspaceId, pair));
    const seq = await lastSeq();
    for (const run of runs) expect(await office.settlement.settle(run, { kind: 'interrupted', cause: 'host_restart' })).toBe('failed');
    expect(await office.row(`select failure_kind, error_message from runs where id = $1`, runs[0]!.runId)).toEqual({
      failure_kind: 'interrupted',
      error_message: '{"kind":"interrupted","cause":"host_restart"}',
    });
    expect((await agentRow(pairs[0]!.agentId)).consecutive_failures).toBe(2);
    expect(await openItems(pairs[0]!.agentId)).toEqual([]);
    const interruptions = await office.rows<{ runs: number }>(
      `select (select count(*)::int from interruption_runs where interruption_id = i.id) as runs from interruptions i where workspace_id = $1`,
      workspaceId,
    );
    expect(interruptions).toEqual([{ runs: 2 }]);
    expect((await eventsAfter(seq)).filter(({ action }) => action === 'office.inbox_item').map(({ payload }) => payload.kind)).toEqual([
      'runs_interrupted',
    ]);
  });

  it('asked for by another host takes only what is no longer leased, judged under the lock', async () => {
    const run = await office.started(workspaceId, await office.pair(workspaceId));
    const take = () => office.settlement.settle(run, { kind: 'interrupted', cause: 'lost_lease' }, { ifLeaseEnded: true });
    expect(await take()).toBe('stale');
    expect(
      await office.row(
        `select status, (select late_result from run_attempts where run_id = r.id) as late from runs r where id = $1`,
        run.runId,
      ),
    ).toEqual({
      status: 'running',
      late: null,
    });
    await office.change(`update runs set lease_expires_at = now() - interval '1 second' where id = $1`, run.runId);
    expect(await take()).toBe('failed');
  });

  it('loses to a stop that was committed before', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    await office.db.unitOfWork.run(workspaceId, (tx) => office.stops.askToStop(tx, { runId: run.runId }, 'cancelled_by_person'));
    expect(await office.settlement.settle(run, { kind: 'interrupted', cause: 'host_restart' })).toBe('cancelled');
  });
});

describe('the threshold', () => {
  it('shows one item below it, and one pause with all tasks at it', async () => {
    const agentId = await office.agent(workspaceId, { name: 'CEO' });
    const tasks = [];
    for (let n = 0; n < 3; n++) tasks.push(await office.task(workspaceId, { assignee_agent_instance_id: agentId }));
    const a = await fail({ agentId, taskId: tasks[0]! });
    expect(await openItems(agentId)).toEqual([a]);
    const b = await fail({ agentId, taskId: tasks[1]! });
    expect(await openItems(agentId)).toEqual([a, b]);
    const run = await office.started(workspaceId, { agentId, taskId: tasks[2]! });
    const seq = await lastSeq();
    await office.settlement.settle(run, errorOf(run));
    expect(await openItems(agentId)).toEqual([]);
    const agent = await agentRow(agentId);
    expect(agent).toMatchObject({
      consecutive_failures: 3,
      pause_source: 'auto',
      pause_reason: 'Auto-paused: 3 consecutive failures. Last error: Internal error: model gone',
    });
    const pause = await office.row<{ affected: { task_id: string }[]; failures: number; closed_at: null }>(
      `select affected, failures, closed_at from agent_pauses where id = $1`,
      agent.current_pause_id,
    );
    expect(pause).toMatchObject({ failures: 3, closed_at: null });
    expect(pause.affected.map(({ task_id }) => task_id)).toEqual(tasks);
    const items = (await eventsAfter(seq)).filter(({ action }) => action === 'office.inbox_item').map(({ payload }) => payload);
    expect(items.map(({ kind, change }) => [kind, change])).toEqual([
      ['agent_run_failed', 'resolved'],
      ['agent_run_failed', 'resolved'],
      ['agent_paused_after_failures', 'opened'],
    ]);
    expect(items[2]).toMatchObject({ title: 'CEO auto-paused after 3 failures (tasks OFF-1, OFF-2, OFF-3)', task_ids: tasks });
    await office.wake(workspaceId, { agentId, on: { taskId: await office.task(workspaceId, { assignee_agent_instance_id: agentId }) } });
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
  });

  it('is the agent’s own where it has one, else the workspace’s at that moment', async () => {
    const strict = await office.pair(workspaceId, { failure_threshold: 1 });
    await fail(strict);
    expect((await agentRow(strict.agentId)).pause_source).toBe('auto');
    const inheriting = await office.pair(workspaceId);
    await office.change(`update workspace_settings set agent_failure_threshold = 2 where workspace_id = $1`, workspaceId);
    await fail(inheriting);
    expect((await agentRow(inheriting.agentId)).pause_source).toBeNull();
    await fail(inheriting);
    expect((await agentRow(inheriting.agentId)).pause_source).toBe('auto');
  });

  it('renews the episode when an agent that is auto-paused already fails again', async () => {
    const agentId = await office.agent(workspaceId, { failure_threshold: 1, max_concurrent_sessions: 2 });
    const pairs = [];
    for (let n = 0; n < 2; n++) pairs.push({ agentId, taskId: await office.task(workspaceId, { assignee_agent_instance_id: agentId }) });
    const runs = [];
    for (const pair of pairs) runs.push(await office.started(workspaceId, pair));
    await office.settlement.settle(runs[0]!, errorOf(runs[0]!));
    const first = await agentRow(agentId);
    const seq = await lastSeq();
    await office.settlement.settle(runs[1]!, errorOf(runs[1]!));
    const second = await agentRow(agentId);
    expect(second.current_pause_id).not.toBe(first.current_pause_id);
    expect(second.pause_reason).toContain('2 consecutive failures');
    expect(await office.row(`select closed_by from agent_pauses where id = $1`, first.current_pause_id)).toEqual({ closed_by: 'replaced' });
    const { affected } = await office.row<{ affected: { task_id: string }[] }>(
      `select affected from agent_pauses where id = $1`,
      second.current_pause_id,
    );
    expect(affected.map(({ task_id }) => task_id)).toEqual(pairs.map(({ taskId }) => taskId));
    const items = (await eventsAfter(seq))
      .filter(({ action }) => action === 'office.inbox_item')
      .map(({ payload }) => [payload.item_id, payload.change]);
    expect(items).toEqual([
      [first.current_pause_id, 'resolved'],
      [second.current_pause_id, 'opened'],
    ]);
  });

  it('leaves a person’s pause and its reason alone; the failure shows by itself', async () => {
    const pair = await office.pair(workspaceId, { failure_threshold: 1 });
    const run = await office.started(workspaceId, pair);
    await office.change(`update agent_instances set pause_reason = 'lunch', pause_source = 'person' where id = $1`, pair.agentId);
    await office.settlement.settle(run, errorOf(run));
    expect(await agentRow(pair.agentId)).toMatchObject({ pause_reason: 'lunch', pause_source: 'person', consecutive_failures: 1 });
    expect(await openItems(pair.agentId)).toEqual([run.runId]);
  });
});

describe('events', () => {
  it('are gapless and in commit order, whoever writes at once', async () => {
    const pairs = await Promise.all(Array.from({ length: 10 }, () => office.pair(workspaceId)));
    await Promise.all(
      pairs.map(async (pair) => {
        await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
        for (const run of (await office.claim(workspaceId)).claimed) await office.settlement.settle(run, errorOf(run));
      }),
    );
    const seqs = (
      await office.rows<{ seq: string }>(`select seq from office_events where workspace_id = $1 order by seq`, workspaceId)
    ).map(({ seq }) => Number(seq));
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1));
    expect(await lastSeq()).toBe(seqs.length);
  });

  it('cut a long error to 4 KiB, splitting no character, and the run keeps it whole', async () => {
    const pair = await office.pair(workspaceId);
    const run = await office.started(workspaceId, pair);
    const payload = JSON.stringify({ message: '😀'.repeat(5_000) });
    const seq = await lastSeq();
    await office.settlement.settle(run, errorOf(run, payload));
    const { error_message } = (await eventsAfter(seq))[0]!.payload as { error_message: string };
    expect(Buffer.byteLength(error_message)).toBeLessThanOrEqual(4_096);
    expect(error_message.isWellFormed()).toBe(true);
    expect(await office.row(`select error_message = $2 as whole from runs where id = $1`, run.runId, payload)).toEqual({ whole: true });
  });
});
