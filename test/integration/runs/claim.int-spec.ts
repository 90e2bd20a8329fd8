import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { outside } from '../../../src/platform/database/reading.js';
import { WAITING_ON, type WaitingOn } from '../../../src/runs/domain/waiting-on.js';
import { RunReads } from '../../../src/runs/run-reads.service.js';
import { readSettings } from '../../../src/platform/config/office-settings.js';
import { AnOffice } from '../../support/an-office.js';

let office: AnOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await AnOffice.open({ poolSize: 30 });
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
});

const END = { kind: 'turn_ended', stopReason: 'end_turn', usage: null, lastMessage: null } as const;
const runIdOf = async (pair: { agentId: string; taskId: string }): Promise<string> =>
  (
    await office.row<{ id: string }>(
      `select id from runs where agent_id = $1 and task_id = $2 order by id desc limit 1`,
      pair.agentId,
      pair.taskId,
    )
  ).id;

describe('a claim', () => {
  it('takes a waiting run, fences it and moves everything with it', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId, on: { taskId } });
    const { claimed } = await office.claim(workspaceId);
    expect(claimed).toHaveLength(1);
    expect(claimed[0]).toMatchObject({ agentId, taskId, generation: 1, attempt: 1, turn: 1, acpSessionId: null });
    expect(claimed[0]!.folder).toBe(`/nowhere/${workspaceId}/tasks/${taskId}`);
    const run = await office.row(
      `select r.status, r.generation, r.entitlement, r.capabilities ? 'post_comment' as may_comment, s.state as session, t.state as task,
              e.path = f.path as same_folder, n.outcome
         from runs r join task_sessions s on s.id = r.session_id join tasks t on t.id = r.task_id
         join executors_running e on e.session_id = s.id join task_folders f on f.task_id = t.id
         join run_attempts n on n.run_id = r.id and n.generation = r.generation
        where r.id = $1`,
      claimed[0]!.runId,
    );
    expect(run).toEqual({
      status: 'running',
      generation: 1,
      entitlement: 'assignee',
      may_comment: true,
      session: 'STARTING',
      task: 'IN_PROGRESS',
      same_folder: true,
      outcome: null,
    });
    const events = await office.rows<{ action: string; payload: object }>(
      `select action, payload from office_events where workspace_id = $1 order by seq`,
      workspaceId,
    );
    expect(
      events.map(({ action, payload }) => [action, 'status' in payload ? payload.status : 'state' in payload ? payload.state : null]),
    ).toEqual([
      ['office.wakeup.updated', 'queued'],
      ['office.agent.updated', 'working'],
      ['office.task.updated', null],
      ['office.wakeup.updated', 'running'],
      ['office.task.session.updated', 'STARTING'],
    ]);
  });

  it('dates its attempt with the moment it took the run, not with that in which it began to look', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId, on: { taskId } });
    const [run] = (await office.claim(workspaceId)).claimed;
    expect(
      await office.row(
        `select a.claimed_at = r.claimed_at as same from runs r join run_attempts a on a.run_id = r.id where r.id = $1`,
        run!.runId,
      ),
    ).toEqual({ same: true });
  });

  it('reuses the session and the folder of the pair, and goes on in its conversation', async () => {
    const pair = await office.pair(workspaceId);
    const first = await office.started(workspaceId, pair);
    await office.settlement.settle(first, END);
    const second = await office.started(workspaceId, pair, 'user_comment');
    expect(second).toMatchObject({ sessionId: first.sessionId, folder: first.folder, acpSessionId: `acp-${first.sessionId}`, turn: 2 });
  });

  it('begins a new conversation when the agent is another program now, and keeps the old one in the history', async () => {
    const pair = await office.pair(workspaceId);
    const first = await office.started(workspaceId, pair);
    await office.settlement.settle(first, END);
    await office.change(`update agent_instances set adapter = 'custom', adapter_config = '{"command":["x"]}' where id = $1`, pair.agentId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId }, reason: 'user_comment' });
    const [second] = (await office.claim(workspaceId)).claimed;
    expect(second).toMatchObject({ sessionId: first.sessionId, acpSessionId: null });
    const session = await office.row(`select acp_session_id, acp_session_history from task_sessions where id = $1`, first.sessionId);
    expect(session).toEqual({ acp_session_id: null, acp_session_history: [`acp-${first.sessionId}`] });
  });

  it('goes by class, then by age, and lifts what waited over 15 minutes by one class, never into human', async () => {
    const agentId = await office.agent(workspaceId, { max_concurrent_sessions: 100 });
    const queue = async (
      reason: 'user_comment' | 'task_assigned' | 'resumed_after_interruption' | 'routine',
      minutes: number,
    ): Promise<string> => {
      const taskId = await office.task(workspaceId, { assignee_agent_instance_id: agentId });
      await office.wake(workspaceId, { agentId, on: { taskId }, reason });
      await office.change(`update runs set requested_at = now() - make_interval(mins => $2) where task_id = $1`, taskId, minutes);
      return taskId;
    };
    const routine = await queue('routine', 5);
    const oldRoutine = await queue('routine', 60);
    const recovery = await queue('resumed_after_interruption', 10);
    const oldRecovery = await queue('resumed_after_interruption', 20);
    const event = await queue('task_assigned', 12);
    const oldEvent = await queue('task_assigned', 120);
    const human = await queue('user_comment', 1);
    const order: string[] = [];
    for (let turn = 0; turn < 7; turn++) {
      const [run] = (await office.claim(workspaceId, { limit: 1 })).claimed;
      order.push(run!.taskId!);
    }
    expect(order).toEqual([human, oldEvent, oldRecovery, event, oldRoutine, recovery, routine]);
  });

  it('finds what is claimable behind any number of runs that are not, and keeps the order of the rest', async () => {
    const stuck = [];
    for (let n = 0; n < 5; n++) stuck.push(await office.pair(workspaceId));
    const later = [await office.pair(workspaceId), await office.pair(workspaceId)];
    for (const { agentId, taskId } of [...stuck, ...later]) await office.wake(workspaceId, { agentId, on: { taskId } });
    // The folders of the first five are somebody's still.
    const busyTaskIds = stuck.map(({ taskId }) => taskId);
    const claimOne = async () => (await office.claim(workspaceId, { limit: 1, busyTaskIds })).claimed.map(({ taskId }) => taskId);
    expect([await claimOne(), await claimOne(), await claimOne()]).toEqual([[later[0]!.taskId], [later[1]!.taskId], []]);
    const { claimed } = await office.claim(workspaceId, { limit: 3 });
    expect(new Set(claimed.map(({ taskId }) => taskId))).toEqual(new Set(busyTaskIds.slice(0, 3)));
  });

  it('passes over an agent that somebody else is just counting, and takes the next', async () => {
    const pairs = [await office.pair(workspaceId), await office.pair(workspaceId), await office.pair(workspaceId)];
    for (const { agentId, taskId } of pairs) await office.wake(workspaceId, { agentId, on: { taskId } });
    await office.db.unitOfWork.run(workspaceId, async (tx) => {
      await tx.query(`select from agent_instances where id = $1 for no key update`, [pairs[0]!.agentId]);
      const { claimed } = await office.claim(workspaceId, { limit: 2 });
      expect(new Set(claimed.map(({ taskId }) => taskId))).toEqual(new Set([pairs[1]!.taskId, pairs[2]!.taskId]));
    });
  });

  it('starves nobody: a free agent behind a full one is served although its run is younger', async () => {
    const busy = await office.agent(workspaceId);
    for (let n = 0; n < 5; n++) {
      await office.wake(workspaceId, {
        agentId: busy,
        on: { taskId: await office.task(workspaceId, { assignee_agent_instance_id: busy }) },
      });
    }
    await office.claim(workspaceId, { limit: 1 });
    const free = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: free.agentId, on: { taskId: free.taskId } });
    const { claimed } = await office.claim(workspaceId, { limit: 1 });
    expect(claimed.map(({ agentId }) => agentId)).toEqual([free.agentId]);
  });

  it('never exceeds an agent’s limit, however many claim at once', async () => {
    const agentId = await office.agent(workspaceId, { max_concurrent_sessions: 3 });
    for (let n = 0; n < 12; n++) {
      await office.wake(workspaceId, { agentId, on: { taskId: await office.task(workspaceId, { assignee_agent_instance_id: agentId }) } });
    }
    const results = await Promise.all(Array.from({ length: 12 }, () => office.claim(workspaceId, { limit: 2 })));
    expect(results.flatMap(({ claimed }) => claimed).length).toBeLessThanOrEqual(3);
    await office.claim(workspaceId);
    expect(await office.rows(`select id from runs where agent_id = $1 and status = 'running'`, agentId)).toHaveLength(3);
  });

  it('never lets two agents into one task’s folder at once', async () => {
    const taskId = await office.task(workspaceId);
    const agents = await Promise.all(Array.from({ length: 4 }, () => office.agent(workspaceId)));
    for (const agentId of agents) await office.wake(workspaceId, { agentId, on: { taskId }, reason: 'mentioned' });
    const results = await Promise.all(Array.from({ length: 8 }, () => office.claim(workspaceId)));
    expect(results.flatMap(({ claimed }) => claimed)).toHaveLength(1);
  });

  it('takes one of two agents’ runs on one task when two claims meet, and fails neither', async () => {
    for (let round = 0; round < 60; round++) {
      const taskId = await office.task(workspaceId);
      for (const agentId of [await office.agent(workspaceId), await office.agent(workspaceId)]) {
        await office.wake(workspaceId, { agentId, on: { taskId }, reason: 'mentioned' });
      }
      const results = await Promise.all([office.claim(workspaceId, { limit: 1 }), office.claim(workspaceId, { limit: 1 })]);
      const claimed = results.flatMap((result) => result.claimed);
      expect(claimed.filter((run) => run.taskId === taskId).length).toBeLessThanOrEqual(1);
      for (const run of claimed) await office.settlement.settle(run, END);
      await office.change(
        `update runs set status = 'cancelled', cancel_reason = 'cancelled_by_person', finished_at = now() where status = 'queued'`,
      );
    }
  });

  it('claims every run once when many claim at once', async () => {
    const pairs = await Promise.all(Array.from({ length: 40 }, () => office.pair(workspaceId)));
    for (const { agentId, taskId } of pairs) await office.wake(workspaceId, { agentId, on: { taskId } });
    const claimed: string[] = [];
    for (let round = 0; round < 20 && claimed.length < 40; round++) {
      const results = await Promise.all(Array.from({ length: 6 }, () => office.claim(workspaceId, { limit: 3 })));
      claimed.push(...results.flatMap((result) => result.claimed.map(({ runId }) => runId)));
    }
    expect(new Set(claimed).size).toBe(40);
    expect(claimed).toHaveLength(40);
  });

  it.each([
    ['task_terminal', `update tasks set state = 'DONE' where id = $1`],
    ['task_terminal', `update tasks set archived_at = now() where id = $1`],
    ['task_not_found', `update tasks set deleted_at = now(), title = '', description = null where id = $1`],
    ['assignee_changed', `update tasks set assignee_agent_instance_id = null where id = $1`],
  ])('cancels a stale run as %s (%s)', async (reason, sql) => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    await office.change(sql, pair.taskId);
    expect(await office.claim(workspaceId)).toMatchObject({ claimed: [], cancelled: 1 });
    expect(await office.row(`select status, cancel_reason from runs where task_id = $1`, pair.taskId)).toEqual({
      status: 'cancelled',
      cancel_reason: reason,
    });
  });

  it('leaves stale wakes out of the prompt and marks them', async () => {
    const { agentId, taskId } = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId, on: { taskId }, reason: 'task_assigned', note: 'for the assignee' });
    await office.wake(workspaceId, { agentId, on: { taskId }, reason: 'mentioned', note: 'for you' });
    await office.change(`update tasks set assignee_agent_instance_id = null where id = $1`, taskId);
    const [run] = (await office.claim(workspaceId)).claimed;
    expect(run!.prompt.turn).toContain('for you');
    expect(run!.prompt.turn).not.toContain('for the assignee');
    expect(await office.rows(`select reason, stale from wake_requests where run_id = $1 order by id`, run!.runId)).toEqual([
      { reason: 'task_assigned', stale: true },
      { reason: 'mentioned', stale: false },
    ]);
  });

  it('tells comments once, in the first prompt that can hold them, and an agent’s own never', async () => {
    const pair = await office.pair(workspaceId);
    const say = (body: string, author: string = office.personId, kind = 'user') =>
      office.change(
        `insert into task_comments (id, workspace_id, task_id, author_kind, author_id, source, body, created_at)
         values ($1, $2, $3, $4, $5, $4, $6, clock_timestamp())`,
        newId(),
        workspaceId,
        pair.taskId,
        kind,
        author,
        body,
      );
    await say('before');
    const first = await office.started(workspaceId, pair);
    await say('meanwhile');
    await say('my own', pair.agentId, 'agent');
    await office.settlement.settle(first, END);
    const second = await office.started(workspaceId, pair, 'user_comment');
    expect(first.prompt.turn).toContain('before');
    expect(second.prompt.turn).toContain('meanwhile');
    expect(second.prompt.turn).not.toMatch(/before|my own/);
  });

  it('tells again what a run was told that never got to launch', async () => {
    const pair = await office.pair(workspaceId);
    const started = await office.started(workspaceId, pair);
    await office.settlement.settle(started, END);
    await office.change(
      `insert into task_comments (id, workspace_id, task_id, author_kind, author_id, source, body, created_at)
       values ($1, $2, $3, 'user', $4, 'user', 'do not forget', clock_timestamp())`,
      newId(),
      workspaceId,
      pair.taskId,
      office.personId,
    );
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId }, reason: 'user_comment' });
    const [first] = (await office.claim(workspaceId)).claimed;
    expect(await office.settlement.settle(first!, { kind: 'interrupted', cause: 'host_restart' })).toBe('queued');
    const [second] = (await office.claim(workspaceId)).claimed;
    expect(second).toMatchObject({ runId: first!.runId, generation: 2 });
    expect(second!.prompt.turn).toContain('do not forget');
  });

  it('freezes capabilities at the first claim', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    const [first] = (await office.claim(workspaceId)).claimed;
    await office.settlement.settle(first!, { kind: 'interrupted', cause: 'host_restart' });
    await office.change(`update agent_instances set permissions = '{"deny":["post_comment"]}' where id = $1`, pair.agentId);
    await office.claim(workspaceId);
    const { may } = await office.row<{ may: boolean }>(`select capabilities ? 'post_comment' as may from runs where id = $1`, first!.runId);
    expect(may).toBe(true);
  });
});

/** Each situation sets up its word and everything that comes after it in the order, so that the order is what is tested. */
const SITUATIONS: Record<WaitingOn, (pair: { agentId: string; taskId: string }) => Promise<void>> = {
  workspace_stopped: () => office.change(`update workspaces set stopped_at = now() where id = $1`, workspaceId),
  agent_stopped: ({ agentId }) => office.change(`update agent_instances set lifecycle = 'stopped' where id = $1`, agentId),
  agent_paused: ({ agentId }) =>
    office.change(`update agent_instances set pause_reason = 'x', pause_source = 'person' where id = $1`, agentId),
  session_failed: ({ agentId, taskId }) =>
    office.change(
      `insert into task_sessions (id, workspace_id, agent_id, task_id, state, adapter) values ($1, $2, $3, $4, 'FAILED', 'mock')`,
      newId(),
      workspaceId,
      agentId,
      taskId,
    ),
  breaker_open: async ({ agentId, taskId }) => {
    for (let failure = 0; failure < 7; failure++) {
      await office.change(
        `insert into runs (id, workspace_id, agent_id, task_id, reason, wake_class, entitlement, status, finished_at, error_message, failure_kind)
         values ($1, $2, $3, $4, 'task_assigned', 1, 'none', 'failed', now(), 'x', 'error')`,
        newId(),
        workspaceId,
        agentId,
        taskId,
      );
    }
  },
  task_blocked: async ({ taskId }) => {
    const blocker = await office.task(workspaceId);
    await office.change(`insert into task_blockers (workspace_id, task_id, blocker_id) values ($1, $2, $3)`, workspaceId, taskId, blocker);
  },
  previous_run_running: ({ agentId, taskId }) => running(agentId, taskId),
  task_busy: async ({ taskId }) => running(await office.agent(workspaceId), taskId),
  host_offline: async ({ taskId }) => {
    const gone = await office.host({ id: newId() });
    await office.change(`update hosts set last_seen_at = now() - interval '1 hour' where id = $1`, gone);
    await office.change(
      `insert into task_folders (task_id, workspace_id, host_id, path) values ($1, $2, $3, '/x')`,
      taskId,
      workspaceId,
      gone,
    );
  },
  adapter_missing: ({ agentId }) => office.change(`update agent_instances set adapter = 'claude' where id = $1`, agentId),
  provider_limited: async ({ agentId }) => {
    const run = await office.row<{ id: string }>(`select id from runs where agent_id = $1 limit 1`, agentId);
    await office.change(
      `insert into provider_holds (id, workspace_id, adapter, credential, summary, run_id, agent_id, reset_at, held_until)
       select $1, workspace_id, adapter, office_credential(adapter_config), 'x', $2, id, now(), now() + interval '1 hour'
         from agent_instances where id = $3`,
      newId(),
      run.id,
      agentId,
    );
  },
  retry_scheduled: ({ agentId }) =>
    office.change(`update runs set due_at = now() + interval '1 hour' where agent_id = $1 and status = 'queued'`, agentId),
  cooling_down: ({ agentId }) =>
    office.change(`update agent_instances set cooldown_sec = 600, last_run_finished_at = now() where id = $1`, agentId),
  agent_at_capacity: async ({ agentId }) => running(agentId, await office.task(workspaceId)),
  host_at_capacity: () => office.change(`update hosts set max_executions = 1 where id = $1`, office.hostId),
  claimable: () => Promise.resolve(),
};

async function running(agentId: string, taskId: string): Promise<void> {
  await office.change(
    `insert into runs (id, workspace_id, agent_id, task_id, reason, wake_class, entitlement, status, generation, lease_host_id, lease_boot_id, lease_expires_at)
     values ($1, $2, $3, $4, 'manual_run', 0, 'none', 'running', 1, $5, $6, now() + interval '1 hour')`,
    newId(),
    workspaceId,
    agentId,
    taskId,
    office.hostId,
    office.bootId,
  );
}

describe('why a waiting run waits', () => {
  it.each(WAITING_ON)('%s: shown first of all that holds, and only claimable is claimed', async (word) => {
    const fresh = await AnOffice.open();
    const before = office;
    office = fresh;
    workspaceId = await office.workspace();
    try {
      const pair = await office.pair(workspaceId);
      await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
      const runId = await runIdOf(pair);
      const later = WAITING_ON.slice(WAITING_ON.indexOf(word));
      // A running run of the same pair excludes one of another agent on the task: only one of them can be there.
      const skipped: readonly WaitingOn[] = word === 'task_busy' ? [] : word === 'previous_run_running' ? ['task_busy'] : [];
      const earlierPair = WAITING_ON.indexOf(word) < WAITING_ON.indexOf('task_busy') && word !== 'task_busy' ? ['task_busy'] : [];
      for (const one of later.filter((each) => !skipped.includes(each) && !earlierPair.includes(each))) await SITUATIONS[one](pair);
      if (word === 'host_at_capacity') await running(await office.agent(workspaceId), await office.task(workspaceId));
      const reads = new RunReads(office.db.unitOfWork, readSettings({}), { busyTaskIds: () => [] });
      expect(await reads.waitingOn(outside(office.db.unitOfWork), workspaceId, runId)).toBe(word);
      const { claimed } = await office.claim(workspaceId);
      expect(claimed.map((run) => run.runId).includes(runId)).toBe(word === 'claimable');
    } finally {
      office = before;
      await fresh.close();
    }
  });

  it('task_busy while the last process of the task is still going down here', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    expect((await office.claim(workspaceId, { busyTaskIds: [pair.taskId] })).claimed).toEqual([]);
    expect((await office.claim(workspaceId)).claimed).toHaveLength(1);
  });

  it('a folder of another live host is not claimed here', async () => {
    const pair = await office.pair(workspaceId);
    await office.wake(workspaceId, { agentId: pair.agentId, on: { taskId: pair.taskId } });
    const elsewhere = await office.host({ id: newId() });
    await office.change(
      `insert into task_folders (task_id, workspace_id, host_id, path) values ($1, $2, $3, '/x')`,
      pair.taskId,
      workspaceId,
      elsewhere,
    );
    expect((await office.claim(workspaceId)).claimed).toEqual([]);
    expect((await office.claim(workspaceId, { hostId: elsewhere })).claimed).toHaveLength(1);
  });
});
