import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunEventView, RunView } from '../../src/runs/run.view.js';
import { RUNTIME_ACTIONS } from '../../src/runtime/all-actions.js';
import { cloneDatabase } from '../support/office-db.js';
import { mockScript, RealServer, waitFor } from '../support/real-server.js';

const servers: RealServer[] = [];
const databases: Awaited<ReturnType<typeof cloneDatabase>>[] = [];
const start = async (env: Record<string, string> = {}): Promise<RealServer> => {
  const database = await cloneDatabase();
  databases.push(database);
  const server = await RealServer.start({ env, databaseUrl: database.url });
  servers.push(server);
  return server;
};
afterEach(async () => {
  for (const server of servers.splice(0)) await server.dispose();
  for (const database of databases.splice(0)) await database.drop();
});

interface Made {
  readonly id: string;
}
const ended = async (server: RealServer, taskId: string, n = 1): Promise<RunView> => {
  const { workspace_id } = await server.must<{ workspace_id: string }>(`GET /tasks/${taskId}`);
  const run = await waitFor(
    async () => {
      const { items } = await server.must<{ items: RunView[] }>(`GET /workspaces/${workspace_id}/runs?task_id=${taskId}`);
      const one = items.at(-n);
      return one !== undefined && !['queued', 'scheduled_retry', 'running'].includes(one.status) && one;
    },
    60_000,
    'the run to end',
  );
  return server.must<RunView>(`GET /runs/${run.id}`);
};

describe('a mock agent in a full run', () => {
  it('uses every route with the token it was launched with', async () => {
    const server = await start();
    const { id: ws } = await server.must<Made>('POST /workspaces', { name: 'Acme' });
    await server.must(`PATCH /workspaces/${ws}/settings`, { require_approval_for_new_agents: false });
    const skill = await server.must<Made>(`POST /workspaces/${ws}/skills`, { slug: 'doors', name: 'D', description: 'D', content: 'D' });
    const bob = await server.must<Made>(`POST /workspaces/${ws}/agents`, { name: 'Bob', role: 'worker', adapter: 'mock' });
    await server.must(`POST /agents/${bob.id}/pause`, {});
    const ceo = await server.must<Made>(`POST /workspaces/${ws}/agents`, {
      name: 'Cleo',
      role: 'ceo',
      adapter: 'mock',
      permissions: { allow: ['delete_skills'] },
    });
    const call = (expect_: number, method: string, path: string, body?: object): object => ({
      call: { method, path: `/runtime${path}`, ...(body === undefined ? {} : { body }), expect: expect_ },
    });
    const memory = '/memory/workspaces/{{workspace_id}}/memory/agents/{{agent_id}}/notes';
    const steps = [
      call(200, 'GET', '/me'),
      call(201, 'POST', '/comments', { body: 'Begun' }),
      call(201, 'POST', '/tasks/{{task_id}}/subtasks', { title: 'Below' }),
      call(201, 'POST', '/agents', { name: 'Dan', role: 'worker' }),
      call(200, 'PATCH', `/agents/${bob.id}`, { instructions: 'Be brief.' }),
      call(200, 'POST', `/agents/${bob.id}/unpause`, {}),
      call(202, 'POST', `/agents/${bob.id}/runs`, { note: 'Say hello.' }),
      call(201, 'POST', '/approvals', { type: 'generic', reason: 'May I?' }),
      call(200, 'PUT', memory, { content: 'kept' }),
      call(200, 'GET', memory),
      call(200, 'GET', '/skills'),
      call(200, 'DELETE', `/skills/${skill.id}`),
      call(200, 'POST', '/tasks/{{task_id}}/step-complete', { summary: 'It is mended.' }),
      call(409, 'POST', '/tasks/{{task_id}}/status', { status: 'done' }),
      call(201, 'POST', '/tasks/{{task_id}}/decisions', { decision: 'approved' }),
      call(200, 'POST', '/tasks/{{task_id}}/status', { status: 'done' }),
      { say: 'All used.' },
    ];
    const task = await server.must<Made>(`POST /workspaces/${ws}/tasks`, {
      title: 'Use everything',
      description: mockScript(...steps),
    });
    const { items: workflows } = await server.must<{ items: { steps: { id: string; kind: string }[] }[] }>(
      `GET /workspaces/${ws}/workflows`,
    );
    const approval = workflows[0]!.steps.find(({ kind }) => kind === 'approval')!;
    await server.must(`PUT /tasks/${task.id}/participants`, { step_id: approval.id, agent_id: ceo.id, role: 'approver' });
    await server.must(`PATCH /tasks/${task.id}`, { assignee_agent_instance_id: ceo.id });

    expect(await ended(server, task.id)).toMatchObject({ status: 'completed', error_message: null });
    const { items } = await server.must<{ items: { id: string }[] }>(`GET /workspaces/${ws}/runs?task_id=${task.id}`);
    const events = await server.must<{ items: RunEventView[] }>(`GET /runs/${items.at(-1)!.id}/events?limit=200`);
    const used = events.items
      .filter(({ event_type }) => event_type === 'runtime.action')
      .map(({ payload }) => (payload as { action: string }).action);
    expect([...new Set(used)].toSorted()).toEqual(RUNTIME_ACTIONS.map(({ declared }) => declared.action).toSorted());
    expect(events.items.map(({ seq }) => seq)).toEqual(events.items.map((_, index) => index + 1));
    expect(await server.must(`GET /tasks/${task.id}`)).toMatchObject({ state: 'DONE' });
    const comments = await server.must<{ items: { body: string; source: string }[] }>(`GET /tasks/${task.id}/comments`);
    // It has said something itself, so its last message does not become a comment as well.
    expect(comments.items.map(({ source, body }) => [source, body])).toEqual([['agent', 'Begun']]);
    const spawned = await waitFor(
      async () =>
        (await server.must<{ items: RunView[] }>(`GET /workspaces/${ws}/runs?agent_id=${bob.id}`)).items.find(
          ({ status }) => status === 'completed',
        ),
      30_000,
      'the spawned run',
    );
    expect(spawned).toMatchObject({ reason: 'agent_spawned', note: 'Say hello.' });
    const { executor } = (await server.must<{ items: { executor: { path: string } }[] }>(`GET /tasks/${task.id}/sessions`)).items[0]!;
    expect(existsSync(join(executor.path, '.office', 'skills', 'office-api', 'SKILL.md'))).toBe(true);
    expect(server.log.join('\n')).not.toMatch(/eyJ[\w-]+\.eyJ/);
  });

  it('is refused the moment it is told to stop', async () => {
    const server = await start();
    const { id: ws } = await server.must<Made>('POST /workspaces', { name: 'Acme' });
    const ada = await server.must<Made>(`POST /workspaces/${ws}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock' });
    const task = await server.must<Made>(`POST /workspaces/${ws}/tasks`, {
      title: 'Call until stopped',
      description: mockScript(
        { say: 'at it' },
        ...Array.from({ length: 200 }, (_, n) => [
          { call: { method: 'POST', path: '/runtime/comments', body: { body: `Call ${n}` }, expect: 201 } },
          { sleep_ms: 50 },
        ]).flat(),
      ),
      assignee_agent_instance_id: ada.id,
    });
    const comments = async () => (await server.must<{ items: unknown[] }>(`GET /tasks/${task.id}/comments?limit=200`)).items.length;
    await waitFor(async () => (await comments()) > 2, 30_000, 'its first comments');
    const { items } = await server.must<{ items: RunView[] }>(`GET /workspaces/${ws}/runs?task_id=${task.id}`);
    await server.must(`POST /runs/${items[0]!.id}/cancel`);
    const atTheStop = await comments();
    expect(await ended(server, task.id)).toMatchObject({ status: 'cancelled' });
    expect(await comments()).toBe(atTheStop);
  });

  it('that lacks a capability is put before people, and has it in its next run with one press', async () => {
    const server = await start();
    const { id: ws } = await server.must<Made>('POST /workspaces', { name: 'Acme' });
    const bob = await server.must<Made>(`POST /workspaces/${ws}/agents`, { name: 'Bob', role: 'worker', adapter: 'mock' });
    const ada = await server.must<Made>(`POST /workspaces/${ws}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock' });
    const give = (status: number, turn: number): object => ({
      call: {
        method: 'POST',
        path: '/runtime/tasks/{{task_id}}/subtasks',
        body: { title: 'Oil the hinges', assignee_agent_id: bob.id },
        expect: status,
      },
      when: { turn: [turn] },
    });
    const task = await server.must<Made>(`POST /workspaces/${ws}/tasks`, {
      title: 'Mend the door',
      description: mockScript(...Array.from({ length: 20 }, () => give(403, 1)), give(201, 2)),
      assignee_agent_instance_id: ada.id,
    });
    expect(await ended(server, task.id)).toMatchObject({ status: 'completed' });
    const inbox = () => server.must<{ items: (Made & { capability: string })[] }>(`GET /workspaces/${ws}/inbox`);
    const { items } = await inbox();
    expect(items).toMatchObject([{ kind: 'capability_missing', agent_id: ada.id, task_ids: [task.id], capability: 'assign_tasks' }]);
    expect(await server.must(`GET /workspaces/${ws}/inbox/count`)).toEqual({ open: 1 });
    await server.must(`POST /workspaces/${ws}/inbox/items/${items[0]!.id}/answer`, { decision: 'allow_always' });
    expect(await inbox()).toMatchObject({ items: [] });

    await server.must(`POST /tasks/${task.id}/comments`, { body: 'You may now.' });
    await waitFor(
      async () =>
        (await server.must<{ items: RunView[] }>(`GET /workspaces/${ws}/runs?task_id=${task.id}`)).items.find(
          ({ reason, status }) => reason === 'user_comment' && status === 'completed',
        ),
      60_000,
      'the next run',
    );
    const { items: below } = await server.must<{ items: unknown[] }>(`GET /workspaces/${ws}/tasks?assignee=${bob.id}`);
    expect(below).toMatchObject([{ title: 'Oil the hinges' }]);
  });

  it('has a token again after a restart, minted anew from what its run was granted', async () => {
    const first = await start({ OFFICE_DRAIN_SEC: '0' });
    const { id: ws } = await first.must<Made>('POST /workspaces', { name: 'Acme' });
    await first.must(`PATCH /workspaces/${ws}/settings`, { resume_interrupted: 'auto' });
    const ada = await first.must<Made>(`POST /workspaces/${ws}/agents`, { name: 'Ada', role: 'worker', adapter: 'mock' });
    const task = await first.must<Made>(`POST /workspaces/${ws}/tasks`, {
      title: 'Go on after the restart',
      description: mockScript(
        { call: { method: 'POST', path: '/runtime/comments', body: { body: 'Turn' }, expect: 201 } },
        { sleep_ms: 60_000, when: { turn: [1] } },
      ),
      assignee_agent_instance_id: ada.id,
    });
    await waitFor(
      async () => (await first.must<{ items: unknown[] }>(`GET /tasks/${task.id}/comments`)).items.length === 1,
      30_000,
      'its first comment',
    );
    await first.end('SIGTERM');
    await first.boot();
    const again = await waitFor(
      async () =>
        (await first.must<{ items: RunView[] }>(`GET /workspaces/${ws}/runs?task_id=${task.id}`)).items.find(
          ({ status }) => status === 'completed',
        ),
      60_000,
      'the resumed run',
    );
    expect(again).toMatchObject({ reason: 'resumed_after_interruption' });
    expect(
      (await first.must<{ items: { source: string }[] }>(`GET /tasks/${task.id}/comments`)).items.filter(
        ({ source }) => source === 'agent',
      ),
    ).toHaveLength(2);
  });
});
