import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { timelinePage } from '../../../src/dashboard/timeline.sql.js';
import { OPEN_HEADS } from '../../../src/inbox/inbox-sources.js';
import { OPEN_FAILURE } from '../../../src/inbox/open-items.sql.js';
import { aLongHistory, manyDismissedFailures, manyOpenFailures } from '../../support/many-rows.js';
import { PAYLOAD, RecoveryOffice } from '../../support/recovery-office.js';

let office: RecoveryOffice;
let ws: string;
beforeAll(async () => {
  office = await RecoveryOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  ws = await office.workspace({ agent_failure_threshold: 10 });
});

interface Entry {
  readonly kind: string;
  readonly id: string;
  readonly at: string;
  readonly [field: string]: unknown;
}
const timeline = async (taskId: string, query = ''): Promise<{ items: Entry[]; next_cursor: string | null }> =>
  office.must(`GET /tasks/${taskId}/timeline${query}`);

describe('the timeline', () => {
  it('reads in the order of time, with a structured error that stays after recovery', async () => {
    const ada = await office.agent(ws, { name: 'Ada' });
    const { taskId, runId, sessionId } = await office.failedTask(ws, ada);
    const before = (await timeline(taskId)).items;
    expect(before.map(({ kind, what, from, to }) => (kind === 'status' ? [what, from, to] : kind))).toEqual([
      ['step', null, 'Work'],
      ['state', 'TODO', 'IN_PROGRESS'],
      'turn',
      'error',
      ['state', 'IN_PROGRESS', 'REVIEW'],
    ]);
    const error = before.find(({ kind }) => kind === 'error');
    expect(error).toEqual({
      id: runId,
      kind: 'error',
      at: expect.any(String) as string,
      header: 'The agent stopped with an error.',
      run_id: runId,
      session_id: sessionId,
      agent: { id: ada, name: 'Ada' },
      details: PAYLOAD,
      details_truncated: false,
      error_class: 'unclassified',
      error_code: expect.any(String) as string,
      hint: expect.any(String) as string,
      interrupted: false,
      actions: ['resume', 'start_fresh'],
    });
    await office.must(`POST /tasks/${taskId}/sessions/${sessionId}/resume`);
    await office.complete(await office.startPair(ws, ada, taskId));
    await office.must(`POST /tasks/${taskId}/comments`, { body: 'Well done.' });
    await office.must(`PATCH /tasks/${taskId}`, { state: 'DONE' });
    const after = (await timeline(taskId)).items;
    expect(after.slice(0, before.length)).toEqual(before.map((entry) => (entry.kind === 'error' ? { ...entry, actions: [] } : entry)));
    const { user } = await office.must<{ user: { id: string; name: string } }>('GET /me');
    expect(after.slice(before.length)).toMatchObject([
      { kind: 'status', what: 'state', from: 'REVIEW', to: 'IN_PROGRESS', by: { kind: 'system' } },
      { kind: 'turn', agent: { name: 'Ada' }, reason: 'manual_resume_after_failure', status: 'completed' },
      { kind: 'comment', body: 'Well done.', author: { kind: 'user', id: user.id, name: user.name } },
      { kind: 'status', to: 'DONE', by: { kind: 'user', id: user.id, name: user.name } },
      { kind: 'status', to: 'Done', what: 'step', by: { kind: 'user', id: user.id } },
    ]);
    expect(after.map(({ at }) => at)).toEqual(after.map(({ at }) => at).toSorted());
  });

  it('shows what a restart cut off as such, and the beginning of a very long payload', async () => {
    const ada = await office.agent(ws);
    const taskId = await office.task(ws, { assignee_agent_instance_id: ada });
    await office.interrupt(await office.startPair(ws, ada, taskId));
    expect((await timeline(taskId)).items.find(({ kind }) => kind === 'error')).toMatchObject({
      interrupted: true,
      actions: ['resume', 'start_fresh'],
    });
    await office.must(`POST /tasks/${taskId}/comments`, { body: 'Go on.' });
    await office.fail(await office.startPair(ws, ada, taskId), `{"message":"${'é'.repeat(100_000)}"}`);
    const last = (await timeline(taskId)).items.findLast(({ kind }) => kind === 'error')!;
    expect(last).toMatchObject({ interrupted: false, details_truncated: true });
    expect([...(last['details'] as string)]).toHaveLength(64 * 1024);
  });

  it('pages without skipping or repeating, entries of the same moment included', async () => {
    const ada = await office.agent(ws);
    const taskId = await office.task(ws);
    await aLongHistory(office.app.dataSource, { workspaceId: ws, agentId: ada, taskId }, 60);
    await office.rows(`update task_comments set created_at = date_trunc('hour', created_at) where task_id = $1`, taskId);
    await office.rows(`update task_state_changes set occurred_at = date_trunc('hour', occurred_at) where task_id = $1`, taskId);
    const whole = (await timeline(taskId, '?limit=200')).items;
    const paged: Entry[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { items, next_cursor } = await timeline(taskId, `?limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`);
      paged.push(...items);
      cursor = next_cursor;
    }
    expect(paged).toEqual(whole);
    expect(new Set(paged.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(whole.length);
    for (const key of ['nonsense', `2026-02-30T00:00:00.000000Z 1 ${taskId}`, `${'9'.repeat(18)} 1 ${taskId}`, `1 1 ${taskId}x`]) {
      const refused = await office.ask(`GET /tasks/${taskId}/timeline?cursor=${Buffer.from(key).toString('base64url')}`);
      expect([key, refused.status, refused.body['code']]).toEqual([key, 400, 'invalid_cursor']);
    }
  });

  it('is gone with its task, and nobody else’s', async () => {
    const taskId = await office.task(ws);
    await office.must(`DELETE /tasks/${taskId}`);
    expect((await office.ask(`GET /tasks/${taskId}/timeline`)).status).toBe(404);
  });
});

describe('the inbox list', () => {
  it('pages through what is open and what was resolved, newest first', async () => {
    const ada = await office.agent(ws);
    const taskId = await office.task(ws);
    const at = { workspaceId: ws, agentId: ada, taskId };
    await manyOpenFailures(office.app.dataSource, at, 23);
    await manyDismissedFailures(office.app.dataSource, at, 23);
    for (const state of ['open', 'resolved'] as const) {
      const whole = await office.inbox(ws, state);
      const paged: unknown[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const query: string = `?state=${state}&limit=5${cursor === '' ? '' : `&cursor=${cursor}`}`;
        const page: { items: unknown[]; next_cursor: string | null } = await office.must(`GET /workspaces/${ws}/inbox${query}`);
        paged.push(...page.items);
        cursor = page.next_cursor;
      }
      expect(whole).toHaveLength(23);
      expect(paged).toEqual(whole);
    }
  });
});

describe('cards and badges', () => {
  it('say of every agent what a person has to know first', async () => {
    const names = ['never', 'finished', 'failed', 'paused', 'live'] as const;
    const ids = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await office.agent(ws, { name })]))) as Record<
      (typeof names)[number],
      string
    >;
    await office.must(`PATCH /agents/${ids.paused}`, { failure_threshold: 1 });
    const tasksOf = async (name: keyof typeof ids) => office.task(ws, { assignee_agent_instance_id: ids[name] });
    await office.complete(await office.startPair(ws, ids.finished, await tasksOf('finished')));
    await office.failedTask(ws, ids.failed);
    await tasksOf('paused');
    await tasksOf('paused');
    const [first] = await office.start(ws);
    // The second session of a paused agent is still at work.
    await office.fail(first!);
    await office.startPair(ws, ids.live, await tasksOf('live'));

    const { items } = await office.must<{ items: Record<string, unknown>[] }>(`GET /workspaces/${ws}/agent-summaries`);
    expect(items.map(({ name, subtitle, dot }) => [name, subtitle, dot])).toEqual([
      ['live', 'Working', 'green'],
      ['paused', 'Paused - 1 consecutive failures', 'red'],
      ['failed', 'Last run failed just now', 'red'],
      ['finished', 'Last run finished just now', 'grey'],
      ['never', 'Never run', 'grey'],
    ]);
    const sidebar = await office.must<{ inbox: number; agents: Record<string, unknown>[] }>(`GET /workspaces/${ws}/sidebar`);
    expect(sidebar.inbox).toBe(2);
    expect(
      sidebar.agents.map(({ name, badge, open_failures, live, pause_reason }) => [name, badge, open_failures, live, pause_reason]),
    ).toEqual([
      ['failed', 'none', 1, 0, null],
      ['finished', 'none', 0, 0, null],
      ['live', 'live', 0, 1, null],
      ['never', 'none', 0, 0, null],
      ['paused', 'paused', 0, 1, 'Auto-paused: 1 consecutive failures. Last error: Internal error: model gone'],
    ]);
    const { items: tab } = await office.must<{ items: Record<string, unknown>[] }>(`GET /agents/${ids.failed}/runs`);
    expect(tab).toMatchObject([
      { pill: 'failed', error_summary: 'Internal error: model gone', task: { identifier: expect.stringMatching(/^ACM-/) as string } },
    ]);
  });

  it('count sessions of other workflows by their own rule: waiting for input is live there, failed never', async () => {
    const ada = await office.agent(ws);
    const taskId = await office.task(ws, { assignee_agent_instance_id: ada });
    await office.complete(await office.startPair(ws, ada, taskId));
    const live = async () => (await office.agentNow(ada))['live_sessions'];
    expect(await live()).toBe(0);
    await office.rows(`update workflows set style = 'kanban' where workspace_id = $1`, ws);
    await office.rows(`update task_sessions set state = 'WAITING_FOR_INPUT' where task_id = $1`, taskId);
    expect(await live()).toBe(1);
    await office.rows(`update task_sessions set state = 'FAILED' where task_id = $1`, taskId);
    expect(await live()).toBe(0);
  });

  it('tell the numbers of the workspace and of its last fourteen days', async () => {
    const [ada, eve] = [await office.agent(ws, { name: 'Ada' }), await office.agent(ws, { name: 'Eve', failure_threshold: 1 })];
    await office.complete(await office.startPair(ws, ada, await office.task(ws, { assignee_agent_instance_id: ada })));
    await office.interrupt(await office.startPair(ws, ada, await office.task(ws, { assignee_agent_instance_id: ada })));
    await office.failedTask(ws, eve);
    await office.task(ws, { assignee_agent_instance_id: eve });
    const { days, ...numbers } = await office.must<{ days: { day: string }[] }>(`GET /workspaces/${ws}/dashboard`);
    expect(numbers).toEqual({
      inbox: 2,
      agents: { stopped: 0, pending_approval: 0, paused: 1, working: 0, idle: 1 },
      tasks: { TODO: 1, IN_PROGRESS: 1, REVIEW: 2, BLOCKED: 0, DONE: 0, CANCELLED: 0 },
      runs: { queued: 1, running: 0 },
    });
    expect(days).toHaveLength(14);
    expect(days.at(-1)).toEqual({ day: expect.any(String) as string, completed: 1, failed: 1, interrupted: 1, cancelled: 0 });
    expect(days[0]).toMatchObject({ completed: 0, failed: 0, interrupted: 0, cancelled: 0 });
  });

  it.each(['agent-summaries', 'sidebar', 'dashboard', 'inbox?limit=200'])(
    'take as many statements for thirty agents as for one: %s',
    async (view) => {
      const statements = async (): Promise<number> => {
        const query = vi.spyOn(office.app.dataSource, 'query');
        await office.must(`GET /workspaces/${ws}/${view}`);
        // The office looks by itself now and then; that is not the view's doing.
        const count = query.mock.calls.filter(([sql]) => !/resume_interrupted|pg_notify/.test(sql)).length;
        query.mockRestore();
        return count;
      };
      const ada = await office.agent(ws);
      await office.failedTask(ws, ada);
      const few = await statements();
      for (let n = 0; n < 30; n++) await office.agent(ws, { name: `Agent ${n}` });
      await manyOpenFailures(office.app.dataSource, { workspaceId: ws, agentId: ada, taskId: await office.task(ws) }, 100);
      expect(await statements()).toBe(few);
    },
  );
});

describe('the plans of what is asked all the time', () => {
  interface Plan {
    readonly 'Node Type': string;
    readonly 'Relation Name'?: string;
    readonly 'Index Name'?: string;
    readonly Plans?: readonly Plan[];
  }
  const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
  const planOf = async (sql: string, parameters: unknown[]): Promise<Plan[]> => {
    const [row] = await office.app.rows<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (format json) ${sql}`, parameters);
    return flat(row!['QUERY PLAN'][0].Plan);
  };
  const scannedWhole = (plan: readonly Plan[]): string[] =>
    plan.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : []));
  const indexes = (plan: readonly Plan[]): Set<string> => new Set(plan.flatMap((node) => node['Index Name'] ?? []));

  let ada: string;
  let taskId: string;
  beforeEach(async () => {
    ada = await office.agent(ws);
    taskId = await office.task(ws);
  });

  it('find the few open failures among many dismissed ones by an index', async () => {
    const at = { workspaceId: ws, agentId: ada, taskId };
    await manyDismissedFailures(office.app.dataSource, at, 20_000);
    await manyOpenFailures(office.app.dataSource, at, 50);
    await office.rows('vacuum analyze runs, inbox_dismissals');
    const list = await planOf(`select count(*) from (${OPEN_HEADS}) head`, [ws]);
    expect(scannedWhole(list)).not.toContain('runs');
    expect(indexes(list)).toContain('runs_open_failures');
    const ofAgent = await planOf(`select count(*) from runs r where r.workspace_id = $1 and r.agent_id = $2 and ${OPEN_FAILURE}`, [
      ws,
      ada,
    ]);
    expect(indexes(ofAgent)).toEqual(new Set(['runs_open_failures']));
    const resolved = await planOf(
      `select item_id from inbox_dismissals where workspace_id = $1 order by dismissed_at desc, item_id desc limit 50`,
      [ws],
    );
    expect(indexes(resolved)).toEqual(new Set(['inbox_dismissals_by_time']));
  });

  it('read a page of the timeline from the indexes of its sources, without sorting the task’s whole history', async () => {
    await aLongHistory(office.app.dataSource, { workspaceId: ws, agentId: ada, taskId }, 20_000);
    await office.rows('analyze runs, task_comments, task_state_changes, task_step_transitions');
    for (const [page, place] of [
      ['start', []],
      ['place', [Date.now() * 1_000, 2, taskId]],
    ] as const) {
      const plan = await planOf(timelinePage(page), [ws, taskId, 51, ...place]);
      expect([...indexes(plan)]).toEqual(
        expect.arrayContaining(['runs_turns_of_task', 'runs_errors_of_task', 'task_comments_in_time', 'task_state_changes_by_task']),
      );
      expect(scannedWhole(plan).filter((table) => ['runs', 'task_comments', 'task_state_changes'].includes(table))).toEqual([]);
    }
  });
});
