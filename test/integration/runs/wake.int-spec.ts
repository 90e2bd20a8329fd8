import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { THE_SYSTEM } from '../../../src/platform/actor.js';
import { newId } from '../../../src/platform/ids.js';
import { AnOffice } from '../../support/an-office.js';
import { gate } from '../../support/gate.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open({ poolSize: 30 });
  workspaceId = await office.workspace();
});
afterAll(() => office.close());

const requestsOf = (runId: string) =>
  office.rows<{ reason: string; outcome: string }>(`select reason, outcome from wake_requests where run_id = $1 order by id`, runId);

describe('the wake seam', () => {
  it.each([
    ['agent_stopped', { lifecycle: 'stopped' }],
    ['agent_archived', { lifecycle: 'archived' }],
    ['agent_pending_approval', { lifecycle: 'pending_approval' }],
  ])('refuses as %s, keeps the request and queues nothing', async (refusedReason, about) => {
    const { agentId, taskId } = await office.pair(workspaceId, about);
    expect(await office.wake(workspaceId, { agentId, on: { taskId } })).toEqual({ outcome: 'refused', refusedReason });
    expect(await office.rows(`select outcome, refused_reason from wake_requests where agent_id = $1`, agentId)).toEqual([
      { outcome: 'refused', refused_reason: refusedReason },
    ]);
    expect(await office.rows(`select id from runs where agent_id = $1`, agentId)).toEqual([]);
  });

  it.each([{ state: 'DONE' }, { state: 'CANCELLED' }, { archived_at: new Date() }])('refuses a task that is over: %j', async (about) => {
    const agentId = await office.agent(workspaceId);
    const taskId = await office.task(workspaceId, about);
    expect(await office.wake(workspaceId, { agentId, on: { taskId } })).toEqual({ outcome: 'refused', refusedReason: 'task_terminal' });
  });

  it('refuses agents and tasks of other workspaces as if they were not there', async () => {
    const other = await office.workspace();
    const foreign = await office.pair(other);
    const own = await office.pair(workspaceId);
    expect(await office.wake(workspaceId, { agentId: foreign.agentId, on: { taskId: own.taskId } })).toMatchObject({
      refusedReason: 'agent_not_found',
    });
    expect(await office.wake(workspaceId, { agentId: own.agentId, on: { taskId: foreign.taskId } })).toMatchObject({
      refusedReason: 'task_not_found',
    });
  });

  it('queues for a paused agent and says that it waits', async () => {
    const { agentId, taskId } = await office.pair(workspaceId, { pause_reason: 'tired', pause_source: 'person' });
    const answer = await office.wake(workspaceId, { agentId, on: { taskId } });
    expect(answer.outcome).toBe('queued');
    const { payload } = await office.row<{ payload: object }>(
      `select payload from office_events where workspace_id = $1 order by seq desc limit 1`,
      workspaceId,
    );
    expect(payload).toMatchObject({ status: 'queued', waiting_on: 'agent_paused', agent_id: agentId, task_id: taskId });
  });

  it('joins the waiting run by its request alone', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    const first = await office.wake(workspaceId, { agentId, on: { taskId } });
    const second = await office.wake(workspaceId, {
      agentId,
      on: { taskId },
      reason: 'agent_comment',
      actor: { kind: 'system', id: null },
    });
    expect(second).toEqual({ ...first, outcome: 'coalesced' });
    expect('runId' in first && (await requestsOf(first.runId))).toEqual([
      { reason: 'task_assigned', outcome: 'queued' },
      { reason: 'agent_comment', outcome: 'coalesced' },
    ]);
  });

  it("lets a person's wake move the run it joins to the front, and make a retry due now", async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    const first = await office.wake(workspaceId, { agentId, on: { taskId } });
    if (first.outcome === 'refused') throw new Error('refused');
    await office.change(`update runs set status = 'scheduled_retry', due_at = now() + interval '1 hour' where id = $1`, first.runId);
    await office.wake(workspaceId, { agentId, on: { taskId }, reason: 'user_comment' });
    const run = await office.row(`select wake_class, due_at <= now() as due from runs where id = $1`, first.runId);
    expect(run).toEqual({ wake_class: 0, due: true });
  });

  it('queues the next run when only a running one is there', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    const running = await office.started(workspaceId, { agentId, taskId });
    const answer = await office.wake(workspaceId, { agentId, on: { taskId }, reason: 'user_comment' });
    expect(answer).toMatchObject({ outcome: 'queued' });
    expect('runId' in answer && answer.runId).not.toBe(running.runId);
  });

  it('takes the same key once within 24 hours and again after that', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    const wake = { agentId, on: { taskId }, key: 'assign:1' };
    const first = await office.wake(workspaceId, wake);
    expect(await office.wake(workspaceId, wake)).toEqual({ ...first, outcome: 'deduplicated' });
    await office.change(`update wake_keys set remembered_until = now() - interval '1 second' where agent_id = $1`, agentId);
    expect(await office.wake(workspaceId, wake)).toEqual({ ...first, outcome: 'coalesced' });
  });

  it('refuses a chain that is too deep, and says so to the next prompt', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    let runId = newId();
    await office.change(
      `insert into runs (id, workspace_id, agent_id, task_id, reason, wake_class, entitlement, depth, status, finished_at, cancel_reason)
       values ($1, $2, $3, $4, 'manual_run', 0, 'none', 7, 'cancelled', now(), 'cancelled_by_person')`,
      runId,
      workspaceId,
      agentId,
      taskId,
    );
    const other = await office.agent(workspaceId);
    const deepest = await office.wake(workspaceId, {
      agentId: other,
      on: { taskId },
      reason: 'agent_spawned',
      actor: { kind: 'agent', id: agentId, runId },
    });
    if (deepest.outcome === 'refused') throw new Error('refused at depth 8');
    runId = deepest.runId;
    const third = await office.agent(workspaceId);
    const refused = await office.wake(workspaceId, {
      agentId: third,
      on: { taskId },
      reason: 'agent_spawned',
      actor: { kind: 'agent', id: other, runId },
    });
    expect(refused).toEqual({ outcome: 'refused', refusedReason: 'too_deep' });
  });

  it('makes one waiting run of 40 wakes at once, and loses none', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    const answers = await Promise.all(Array.from({ length: 40 }, () => office.wake(workspaceId, { agentId, on: { taskId } })));
    expect(answers.filter(({ outcome }) => outcome === 'queued')).toHaveLength(1);
    expect(new Set(answers.map((answer) => 'runId' in answer && answer.runId)).size).toBe(1);
    expect(await office.rows(`select id from wake_requests where agent_id = $1`, agentId)).toHaveLength(40);
  });

  it('keeps claims off the run it joins until it is committed', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId, on: { taskId } });
    const commit = gate();
    const waking = office.db.unitOfWork.run(workspaceId, async (tx) => {
      await office.wakes.wake(tx, { agentId, on: { taskId }, reason: 'agent_comment', actor: THE_SYSTEM, note: 'just in time' });
      await commit.pass();
    });
    await commit.reached;
    expect((await office.claim(workspaceId)).claimed.filter((run) => run.agentId === agentId)).toEqual([]);
    commit.open();
    await waking;
    const [run] = (await office.claim(workspaceId)).claimed.filter((one) => one.agentId === agentId);
    expect(run!.prompt.turn).toContain('just in time');
  });

  it('never joins a run whose prompt has been written: claims and wakes at random, every wake told exactly once', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    const wakes = Array.from({ length: 120 }, (_, index) => `note ${index}.`);
    const told: string[] = [];
    let waking = true;
    const claimer = (async () => {
      while (waking || (await office.rows(`select id from runs where agent_id = $1 and status = 'queued'`, agentId)).length > 0) {
        for (const run of (await office.claim(workspaceId)).claimed.filter((one) => one.agentId === agentId)) {
          told.push(run.prompt.turn);
          await office.settlement.settle(run, { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null });
        }
      }
    })();
    for (let at = 0; at < wakes.length; at += 10) {
      await Promise.all(
        wakes.slice(at, at + 10).map((note) => office.wake(workspaceId, { agentId, on: { taskId }, reason: 'manual_run', note })),
      );
    }
    waking = false;
    await claimer;
    const everything = told.join('\n');
    for (const note of wakes) expect(everything.split(note), note).toHaveLength(2);
    expect(told.length).toBeGreaterThan(1);
  });
});
