import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { THE_SYSTEM } from '../../../src/platform/actor.js';
import { WakeService, type Wake } from '../../../src/runs/wake.service.js';
import { openByEvents, RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let ws: string;
beforeAll(async () => {
  office = await RecoveryOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  ws = await office.workspace({ agent_failure_threshold: 10 });
});

const sessionOf = (sessionId: string) =>
  office.row<{ state: string; acp_session_id: string | null; acp_session_history: string[] }>(
    `select state, acp_session_id, acp_session_history from task_sessions where id = $1`,
    sessionId,
  );
const queuedOf = (agentId: string) =>
  office.rows<{ id: string; reason: string }>(`select id, reason from runs where agent_id = $1 and status = 'queued' order by id`, agentId);
const wake = (about: Omit<Wake, 'actor'> & Partial<Wake>) =>
  office.app.unitOfWork.run(ws, (tx) => office.app.app.get(WakeService, { strict: false }).wake(tx, { actor: THE_SYSTEM, ...about }));
/** Everything a person could see of the workspace, to show that nothing changed. */
const picture = async () => [
  await office.inbox(ws),
  await office.rows(`select id, status, reason from runs where workspace_id = $1 order by id`, ws),
  await office.rows(`select id, state from task_sessions where workspace_id = $1 order by id`, ws),
  await office.rows(`select last_seq from office_event_counters where workspace_id = $1`, ws),
];

describe('a pair whose session has failed', () => {
  it('waits for a person: wakes by agents and by the office queue, and say why', async () => {
    const [ada, eve] = [await office.agent(ws, { name: 'Ada' }), await office.agent(ws, { name: 'Eve' })];
    const { taskId, runId, sessionId } = await office.failedTask(ws, ada);
    await wake({ agentId: ada, on: { taskId }, reason: 'task_blockers_resolved' });
    await wake({ agentId: ada, on: { taskId }, reason: 'agent_comment', actor: { kind: 'agent', id: eve, runId } });
    expect((await office.claim(ws)).claimed).toEqual([]);
    const { items } = await office.must<{ items: { status: string; waiting_on: string }[] }>(`GET /agents/${ada}/runs`);
    expect(items.map(({ status, waiting_on }) => [status, waiting_on])).toEqual([
      ['queued', 'session_failed'],
      ['failed', null],
    ]);
    expect(await sessionOf(sessionId)).toMatchObject({ state: 'FAILED' });
    expect(await office.count(ws)).toBe(1);
  });

  it('is resumed by a person’s comment, which the waiting run joins, and its item is gone', async () => {
    const ada = await office.agent(ws);
    const { taskId, sessionId } = await office.failedTask(ws, ada);
    await wake({ agentId: ada, on: { taskId }, reason: 'task_blockers_resolved' });
    const [waiting] = await queuedOf(ada);
    await office.must(`POST /tasks/${taskId}/comments`, { body: 'The model is back.' });
    expect(await sessionOf(sessionId)).toMatchObject({ state: 'IDLE' });
    expect(await office.count(ws)).toBe(0);
    expect((await queuedOf(ada)).map(({ id }) => id)).toEqual([waiting!.id]);
    expect((await office.start(ws)).map(({ runId, acpSessionId }) => [runId, acpSessionId !== null])).toEqual([[waiting!.id, true]]);
  });

  it('is resumed by a mention and by a manual run of a person as well', async () => {
    const [ada, eve] = [await office.agent(ws, { name: 'Ada', handle: 'ada' }), await office.agent(ws, { name: 'Eve' })];
    const { taskId, sessionId } = await office.failedTask(ws, ada);
    await office.must(`POST /tasks/${taskId}/comments`, { body: '@ada again please' });
    expect(await sessionOf(sessionId)).toMatchObject({ state: 'IDLE' });
    const other = await office.failedTask(ws, eve);
    await office.must(`POST /agents/${eve}/runs`, { task_id: other.taskId });
    expect(await sessionOf(other.sessionId)).toMatchObject({ state: 'IDLE' });
    expect(await office.count(ws)).toBe(0);
  });
});

describe('Mark fixed on a failed run', () => {
  it('dismisses all failures of the pair, wakes it once, and says what the run waits for', async () => {
    const ada = await office.agent(ws);
    const { taskId, runId, sessionId } = await office.failedTask(ws, ada);
    await office.must(`POST /agents/${ada}/pause`, {});
    const fixed = await office.dismiss(ws, runId);
    const [run] = await queuedOf(ada);
    expect(fixed.body).toEqual({
      item_id: runId,
      kind: 'agent_run_failed',
      dismissed: true,
      already_dismissed: false,
      queued_runs: [{ run_id: run!.id, task_id: taskId, agent_id: ada, waiting_on: 'agent_paused' }],
      skipped: [],
      waiting_on: 'agent_paused',
    });
    expect(run!.reason).toBe('manual_resume_after_failure');
    expect(await sessionOf(sessionId)).toMatchObject({ state: 'IDLE' });
    const again = await office.dismiss(ws, runId);
    expect([again.status, again.body]).toEqual([
      200,
      { item_id: runId, kind: 'agent_run_failed', dismissed: true, already_dismissed: true, queued_runs: [], skipped: [] },
    ]);
    expect(await queuedOf(ada)).toHaveLength(1);
  });

  it('works for a reviewer, a mentioned agent and the coordinator as for the assignee', async () => {
    const assignee = await office.agent(ws, { name: 'Ada' });
    const taskId = await office.task(ws, { assignee_agent_instance_id: assignee });
    await office.complete(await office.startPair(ws, assignee, taskId));
    for (const reason of ['task_review_requested', 'mentioned', 'agent_error'] as const) {
      const agentId = await office.agent(ws, { name: reason });
      await wake({ agentId, on: { taskId }, reason });
      const { claimed } = await office.claim(ws);
      const run = claimed.find((one) => one.agentId === agentId);
      if (run === undefined) {
        // Nobody holds a seat yet, so a review that was asked for is stale at the claim; its failure is what counts here.
        await office.rows(
          `insert into runs (id, workspace_id, agent_id, task_id, status, reason, wake_class, entitlement, finished_at, failure_kind, error_message)
           values ($1, $2, $3, $4, 'failed', $5, 1, 'none', now(), 'error', '{}')`,
          newId(),
          ws,
          agentId,
          taskId,
          reason,
        );
      } else await office.fail(run);
      const item = (await office.inbox(ws)).find((one) => one.agent_id === agentId);
      const fixed = await office.dismiss(ws, item!.id);
      expect(fixed.body).toMatchObject({ dismissed: true, queued_runs: [{ task_id: taskId, agent_id: agentId }], skipped: [] });
      const again = await office.startPair(ws, agentId, taskId);
      expect(again.reason).toBe('manual_resume_after_failure');
      await office.complete(again);
    }
  });

  it('joins a run that is under way already, and names it', async () => {
    const ada = await office.agent(ws, { failure_threshold: 1 });
    const { taskId, runId } = await office.failedTask(ws, ada);
    // Swallowed by a pause, resumed in the chat, and let out again while the agent is back at work.
    await office.must(`POST /agents/${ada}/unpause`);
    await office.rows(`update task_sessions set state = 'IDLE' where agent_id = $1`, ada);
    await wake({ agentId: ada, on: { taskId }, reason: 'task_assigned' });
    const live = await office.startPair(ws, ada, taskId);
    const fixed = await office.dismiss(ws, runId);
    expect(fixed.body).toMatchObject({ queued_runs: [{ run_id: live.runId, waiting_on: null }] });
    expect(await queuedOf(ada)).toEqual([]);
  });

  it('wakes an agent without a task in the scope it failed in', async () => {
    const ada = await office.agent(ws, { name: 'Ada' });
    await office.must(`POST /agents/${ada}/runs`, { note: 'Look around.' });
    const [run] = await office.start(ws);
    await office.fail(run!);
    const [item] = await office.inbox(ws);
    expect(item).toMatchObject({ title: 'Ada failed (no task)', task_ids: [] });
    const fixed = await office.dismiss(ws, item!.id);
    expect(fixed.body).toMatchObject({ queued_runs: [{ task_id: null, agent_id: ada }] });
    expect(await office.row(`select scope, reason from runs where agent_id = $1 and status = 'queued'`, ada)).toEqual({
      scope: 'manual',
      reason: 'manual_resume_after_failure',
    });
    const [again] = await office.start(ws);
    await office.fail(again!);
    expect(await office.count(ws)).toBe(1);
    await office.must(`POST /agents/${ada}/runs`, {});
    await office.complete((await office.start(ws))[0]!);
    expect(await office.count(ws)).toBe(0);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
  });

  it.each([
    ['done', { state: 'DONE' }, 'task_done'],
    ['nobody’s', null, 'not_assignee'],
  ] as const)('dismisses and skips, with why, when the task is %s', async (_what, change, why) => {
    const ada = await office.agent(ws);
    const { taskId, runId } = await office.failedTask(ws, ada);
    if (change !== null) await office.must(`PATCH /tasks/${taskId}`, change);
    else await office.rows(`update tasks set assignee_agent_instance_id = null where id = $1`, taskId);
    expect((await office.dismiss(ws, runId)).body).toMatchObject({ dismissed: true, queued_runs: [], skipped: [{ task_id: taskId, why }] });
    expect(await queuedOf(ada)).toEqual([]);
    expect(await office.count(ws)).toBe(0);
  });

  it.each([{ state: 'CANCELLED' }, { archived: true }])(
    'has nothing to do once the task is %o: its items are gone with it',
    async (change) => {
      const ada = await office.agent(ws);
      const { taskId, runId } = await office.failedTask(ws, ada);
      await office.must(`PATCH /tasks/${taskId}`, change);
      expect(await office.count(ws)).toBe(0);
      expect((await office.dismiss(ws, runId)).body).toMatchObject({ already_dismissed: true, queued_runs: [] });
    },
  );

  it('refuses while the agent takes no wakes, and changes nothing', async () => {
    const ada = await office.agent(ws);
    const { runId } = await office.failedTask(ws, ada);
    await office.must(`POST /agents/${ada}/stop`);
    const before = await picture();
    const refused = await office.dismiss(ws, runId);
    expect([refused.status, refused.body['code'], refused.body['lifecycle']]).toEqual([409, 'agent_not_active', 'stopped']);
    expect(await picture()).toEqual(before);
  });

  it('answers the same to the same Idempotency-Key', async () => {
    const ada = await office.agent(ws);
    const { runId } = await office.failedTask(ws, ada);
    const press = () =>
      office.app.ask(`POST /api/v1/workspaces/${ws}/inbox/items/${runId}/dismiss`, {
        token: office.token,
        headers: { 'idempotency-key': 'once' },
      });
    expect((await press()).body).toEqual((await press()).body);
  });
});

describe('Mark fixed on a pause', () => {
  const pausedByTwo = async () => {
    const ada = await office.agent(ws, { name: 'Ada', failure_threshold: 2 });
    const failures = [await office.failedTask(ws, ada, 'A'), await office.failedTask(ws, ada, 'B')] as const;
    const [pause] = await office.inbox(ws);
    return { ada, failures, pause: pause! };
  };

  it('is refused while a person has the agent paused; the item stays', async () => {
    const { ada, pause } = await pausedByTwo();
    await office.must(`POST /agents/${ada}/pause`, { reason: 'Let me look' });
    const before = await picture();
    const refused = await office.dismiss(ws, pause.id);
    expect([refused.status, refused.body['code']]).toEqual([409, 'paused_by_person']);
    expect(await picture()).toEqual(before);
    await office.must(`POST /agents/${ada}/unpause`);
    expect((await office.inbox(ws)).map(({ kind }) => kind)).toEqual(['agent_run_failed', 'agent_run_failed']);
  });

  it('is refused for an episode that a newer one has replaced; the newer stays actionable', async () => {
    const ada = await office.agent(ws, { name: 'Ada', failure_threshold: 1 });
    const tasks = [await office.task(ws, { assignee_agent_instance_id: ada }), await office.task(ws, { assignee_agent_instance_id: ada })];
    const [first, second] = await office.start(ws);
    await office.fail(first!);
    const [old] = await office.inbox(ws);
    // Two sessions at once: the second fails while the agent is paused already.
    await office.fail(second!, '{"message":"worse"}');
    const [now, ...others] = await office.inbox(ws);
    expect(others).toEqual([]);
    expect(now!.task_ids.toSorted()).toEqual(tasks.toSorted());
    expect(now!.title).toContain('auto-paused after 2 failures');
    expect(await office.agentNow(ada)).toMatchObject({
      pause_reason: 'Auto-paused: 2 consecutive failures. Last error: worse',
      consecutive_failures: 2,
    });
    const before = await picture();
    const refused = await office.dismiss(ws, old!.id);
    expect([refused.status, refused.body['code'], refused.body['current_item_id']]).toEqual([409, 'pause_changed', now!.id]);
    expect(await picture()).toEqual(before);
    expect((await office.dismiss(ws, now!.id)).body['queued_runs']).toHaveLength(2);
  });

  it('skips what is over and wakes the rest', async () => {
    const { ada, failures, pause } = await pausedByTwo();
    await office.must(`DELETE /tasks/${failures[0].taskId}`);
    expect((await office.dismiss(ws, pause.id)).body).toMatchObject({
      queued_runs: [{ task_id: failures[1].taskId }],
      skipped: [{ task_id: failures[0].taskId, agent_id: ada, why: 'task_not_found' }],
    });
  });
});

describe('an agent that is archived', () => {
  it('takes its failures, its pause and what a restart cut off with it, each told once', async () => {
    const [ada, eve] = [await office.agent(ws, { name: 'Ada' }), await office.agent(ws, { name: 'Eve', failure_threshold: 1 })];
    await office.failedTask(ws, ada);
    await office.interrupt(await office.startPair(ws, ada, await office.task(ws, { assignee_agent_instance_id: ada })));
    await office.failedTask(ws, eve);
    expect((await office.inbox(ws)).map(({ kind }) => kind).sort()).toEqual([
      'agent_paused_after_failures',
      'agent_run_failed',
      'runs_interrupted',
    ]);
    for (const agent of [ada, eve]) await office.must(`DELETE /agents/${agent}`);
    expect(await office.inbox(ws)).toEqual([]);
    expect((await office.inbox(ws, 'resolved')).every(({ resolved }) => resolved!.by.name === 'system')).toBe(true);
    expect([...openByEvents(await office.told(ws))]).toEqual([]);
  });
});

describe('many at once', () => {
  it('answers each by itself, in one transaction each', async () => {
    const ada = await office.agent(ws);
    const [a, b] = [await office.failedTask(ws, ada), await office.failedTask(ws, ada)];
    const unknown = newId();
    const { items } = await office.must<{ items: Record<string, unknown>[] }>(`POST /workspaces/${ws}/inbox/dismiss`, {
      item_ids: [a.runId, unknown, b.runId],
    });
    expect(items).toMatchObject([
      { item_id: a.runId, dismissed: true, queued_runs: [{ task_id: a.taskId }] },
      { item_id: unknown, dismissed: false, code: 'not_found' },
      { item_id: b.runId, dismissed: true, queued_runs: [{ task_id: b.taskId }] },
    ]);
    expect(await office.count(ws)).toBe(0);
  });

  it('act once under an Idempotency-Key, each item by itself', async () => {
    const ada = await office.agent(ws);
    const [a, b] = [await office.failedTask(ws, ada), await office.failedTask(ws, ada)];
    const press = (item_ids: string[]) =>
      office.app.ask(`POST /api/v1/workspaces/${ws}/inbox/dismiss`, {
        token: office.token,
        body: { item_ids },
        headers: { 'idempotency-key': 'once' },
      });
    const first = await press([a.runId, b.runId]);
    expect(first.body['items']).toMatchObject([{ already_dismissed: false }, { already_dismissed: false }]);
    expect((await press([a.runId, b.runId])).body).toEqual(first.body);
    const other = await press([a.runId]);
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_key_reused']);
  });

  it.each([
    ['none', { item_ids: [] }],
    ['more than a hundred', { item_ids: Array.from({ length: 101 }, newId) }],
    ['what is no id', { item_ids: ['x'] }],
    ['nothing', {}],
  ])('refuses %s', async (_what, body) => {
    expect((await office.ask(`POST /workspaces/${ws}/inbox/dismiss`, body)).status).toBe(400);
  });
});

describe('wrong ids', () => {
  it('are refused with a code and change nothing', async () => {
    const ada = await office.agent(ws);
    const { taskId, runId, sessionId } = await office.failedTask(ws, ada);
    const other = await office.workspace();
    const done = await office.task(ws, { assignee_agent_instance_id: ada });
    const run = await office.startPair(ws, ada, done);
    await office.complete(run);
    const before = await picture();
    const inbox = `POST /workspaces/${ws}/inbox/items`;
    const asked: [string, number, string][] = [
      [`${inbox}/${newId()}/dismiss`, 404, 'not_found'],
      [`${inbox}/nothing/dismiss`, 404, 'not_found'],
      [`${inbox}/${taskId}/dismiss`, 404, 'not_found'],
      [`${inbox}/${run.runId}/dismiss`, 404, 'not_found'],
      [`POST /workspaces/${other}/inbox/items/${runId}/dismiss`, 404, 'not_found'],
      [`POST /tasks/${taskId}/sessions/${newId()}/resume`, 404, 'not_found'],
      [`POST /tasks/${done}/sessions/${sessionId}/resume`, 404, 'not_found'],
      [`POST /tasks/${newId()}/sessions/${sessionId}/resume`, 404, 'not_found'],
      [`POST /tasks/${done}/sessions/${run.sessionId}/resume`, 409, 'session_not_failed'],
      [`POST /tasks/${done}/sessions/${run.sessionId}/start-fresh`, 409, 'session_not_failed'],
    ];
    for (const [route, status, code] of asked) {
      const answer = await office.ask(route);
      expect([route, answer.status, answer.body['code']]).toEqual([route, status, code]);
    }
    expect(await picture()).toEqual(before);
    await office.must(`PATCH /tasks/${taskId}`, { archived: true });
    const archived = await office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/resume`);
    expect([archived.status, archived.body['code'], archived.body['why']]).toEqual([409, 'task_not_open', 'task_archived']);
    expect(await sessionOf(sessionId)).toMatchObject({ state: 'FAILED' });
  });
});

describe('Resume and Start fresh', () => {
  it('resume where it stopped: the same session, the same conversation', async () => {
    const ada = await office.agent(ws);
    const { taskId, sessionId } = await office.failedTask(ws, ada);
    const { acp_session_id } = await sessionOf(sessionId);
    const resumed = await office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/resume`);
    const [run] = await queuedOf(ada);
    expect([resumed.status, resumed.body]).toEqual([
      202,
      { session: { id: sessionId, state: 'IDLE' }, run_id: run!.id, waiting_on: 'claimable' },
    ]);
    expect(await office.count(ws)).toBe(0);
    const again = await office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/resume`);
    expect([again.status, again.body['code']]).toEqual([409, 'session_not_failed']);
    const { claimed } = await office.claim(ws);
    expect(claimed[0]).toMatchObject({ sessionId, acpSessionId: acp_session_id, reason: 'manual_resume_after_failure' });
  });

  it('start a new conversation in the same session, and keep the old one in its history', async () => {
    const ada = await office.agent(ws);
    const { taskId, sessionId } = await office.failedTask(ws, ada);
    const { acp_session_id } = await sessionOf(sessionId);
    expect((await office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/start-fresh`)).status).toBe(202);
    expect(await sessionOf(sessionId)).toEqual({ state: 'IDLE', acp_session_id: null, acp_session_history: [acp_session_id] });
    const { claimed } = await office.claim(ws);
    expect(claimed[0]).toMatchObject({ sessionId, acpSessionId: null, reason: 'manual_start_fresh' });
    expect(await office.count(ws)).toBe(0);
  });
});

describe('a host that is away', () => {
  const AWAY = newId();
  beforeAll(async () => {
    await office.rows(
      `insert into hosts (id, boot_id, name, adapters, max_executions, last_seen_at) values ($1, $2, 'gone', '{mock}', 8, now() - interval '1 hour')`,
      AWAY,
      newId(),
    );
  });
  /** As if that host had run the task so far. */
  const strand = async (taskId: string): Promise<void> => {
    await office.rows(`update task_folders set host_id = $2, path = '/gone/folder' where task_id = $1`, taskId, AWAY);
    await office.rows(`update executors_running set host_id = $2, path = '/gone/folder' where task_id = $1`, taskId, AWAY);
  };

  it('keeps its tasks waiting; Start fresh takes one of them to a new folder wherever there is a host', async () => {
    const [ada, eve] = [await office.agent(ws, { name: 'Ada' }), await office.agent(ws, { name: 'Eve' })];
    const { taskId, runId, sessionId } = await office.failedTask(ws, ada);
    await wake({ agentId: eve, on: { taskId }, reason: 'mentioned' });
    const mentioned = await office.startPair(ws, eve, taskId);
    await office.complete(mentioned);
    await strand(taskId);
    const { acp_session_id } = await sessionOf(sessionId);
    expect((await office.dismiss(ws, runId)).body['waiting_on']).toBe('host_offline');
    const seq = (await office.row<{ last_seq: number }>(`select last_seq::int from office_event_counters where workspace_id = $1`, ws))
      .last_seq;

    const started = await office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/start-fresh`);
    expect([started.status, started.body]).toEqual([
      202,
      { session: { id: sessionId, state: 'IDLE' }, run_id: (await queuedOf(ada))[0]!.id, waiting_on: 'claimable' },
    ]);
    expect(await sessionOf(sessionId)).toEqual({ state: 'IDLE', acp_session_id: null, acp_session_history: [acp_session_id] });
    // The others that worked in that folder have nothing left of it either.
    expect(await sessionOf(mentioned.sessionId)).toEqual({
      state: 'IDLE',
      acp_session_id: null,
      acp_session_history: [`acp-${mentioned.runId}`],
    });
    expect((await office.must<{ executor: unknown }>(`GET /sessions/${mentioned.sessionId}`)).executor).toBeNull();
    const told = await office.rows<{ id: string }>(
      `select payload ->> 'session_id' as id from office_events
        where workspace_id = $1 and seq > $2 and action = 'office.task.session.updated' order by 1`,
      ws,
      seq,
    );
    expect(told.map(({ id }) => id)).toEqual([sessionId, mentioned.sessionId].toSorted());
    const { claimed } = await office.claim(ws);
    expect(claimed).toMatchObject([
      { runId: started.body['run_id'], sessionId, acpSessionId: null, folder: `/nowhere/${ws}/tasks/${taskId}` },
    ]);
    expect(await office.rows(`select host_id from task_folders where task_id = $1`, taskId)).toEqual([{ host_id: office.hostId }]);
    expect(
      await office.rows(`select event_type, payload from office_run_events where run_id = $1 order by seq`, started.body['run_id']),
    ).toEqual([{ event_type: 'folder.left', payload: { host_id: AWAY, path: '/gone/folder' } }]);
  });

  it('and takes a session that has not failed along; Resume does not, and a turn under way is left alone', async () => {
    const ada = await office.agent(ws);
    const taskId = await office.task(ws, { assignee_agent_instance_id: ada });
    const run = await office.startPair(ws, ada, taskId);
    await strand(taskId);
    const press = async (what: string) => (await office.ask(`POST /tasks/${taskId}/sessions/${run.sessionId}/${what}`)).body['code'];
    expect([await press('resume'), await press('start-fresh')]).toEqual(['session_not_failed', 'session_not_failed']);
    await office.complete(run);
    expect([await press('resume'), await press('start-fresh')]).toEqual(['session_not_failed', undefined]);
    expect((await office.claim(ws)).claimed).toMatchObject([{ reason: 'manual_start_fresh', acpSessionId: null }]);
  });

  it('is left only when nothing runs in the folder any more, whoever’s it is', async () => {
    const [ada, eve] = [await office.agent(ws), await office.agent(ws)];
    const { taskId, sessionId } = await office.failedTask(ws, ada);
    await wake({ agentId: eve, on: { taskId }, reason: 'mentioned' });
    const mentioned = await office.startPair(ws, eve, taskId);
    await strand(taskId);
    await office.ask(`POST /tasks/${taskId}/sessions/${sessionId}/start-fresh`);
    expect(await office.rows(`select host_id from task_folders where task_id = $1`, taskId)).toEqual([{ host_id: AWAY }]);
    expect(
      (await office.row<{ id: string }>(`select acp_session_id as id from task_sessions where id = $1`, mentioned.sessionId)).id,
    ).not.toBeNull();
    expect(await office.row(`select status from runs where id = $1`, mentioned.runId)).toEqual({ status: 'running' });
  });

  it('keeps its worktrees: the repository is there only, and nobody knows what work is in them', async () => {
    const ada = await office.agent(ws);
    const { taskId, sessionId } = await office.failedTask(ws, ada);
    const repository = newId();
    await office.rows(
      `insert into repositories (id, workspace_id, host_id, name, path) values ($1, $2, $3, 'r', '/r')`,
      repository,
      ws,
      AWAY,
    );
    await office.rows(`update tasks set repository_id = $2 where id = $1`, taskId, repository);
    await office.rows(`update task_folders set repository_id = $2 where task_id = $1`, taskId, repository);
    await strand(taskId);
    const started = await office.must(`POST /tasks/${taskId}/sessions/${sessionId}/start-fresh`);
    expect(started['waiting_on']).toBe('host_offline');
    expect(await office.rows(`select host_id from task_folders where task_id = $1`, taskId)).toEqual([{ host_id: AWAY }]);
  });
});
