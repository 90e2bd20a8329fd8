import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunDoor } from '../../../src/access/run-door.service.js';
import { RUNTIME_ACTIONS } from '../../../src/runtime/all-actions.js';
import { RuntimeAction, type ActionDeclaration } from '../../../src/runtime/runtime-action.js';
import { RuntimeActions } from '../../../src/runtime/runtime-actions.service.js';
import { RunSecrets } from '../../../src/transcript/run-secrets.service.js';
import { RuntimeDesk } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
beforeAll(async () => void (desk = await RuntimeDesk.open()));
afterAll(() => desk.close());

const rows = <Row>(sql: string, ...parameters: unknown[]): Promise<Row[]> => desk.office.rows<Row>(sql, ...parameters);
const waitingOf = (agentId: string) =>
  rows<{ reason: string; task_id: string | null; note: string | null }>(
    `select reason, task_id, note from runs where agent_id = $1 and status = 'queued' order by id`,
    agentId,
  );

describe('me', () => {
  it('tells a run who it is, what for, and what it may do', async () => {
    const ada = await desk.worker({ name: 'Ada' }, { title: 'Mend the door' });
    const me = await ada.must('GET /me');
    expect(me).toEqual({
      run_id: ada.run.runId,
      workspace_id: desk.workspaceId,
      agent: { id: ada.run.agentId, name: 'Ada', handle: expect.any(String), role: 'worker' },
      task: {
        id: ada.run.taskId,
        identifier: expect.stringMatching(/^\w+-\d+$/),
        title: 'Mend the door',
        state: 'IN_PROGRESS',
        step: 'Work',
      },
      reason: 'task_assigned',
      wakes: [{ reason: 'task_assigned', note: null }],
      capabilities: [
        'post_comment',
        'update_task_status',
        'read_memory',
        'write_memory',
        'list_skills',
        'request_approval',
        'create_subtask',
      ],
      expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await ada.lastLogged()).toEqual(['runtime.action', { action: 'me', target_type: null, target_id: null }]);
  });

  it('is told to one without a task as well', async () => {
    expect(await (await desk.idler()).must('GET /me')).toMatchObject({ task: null, reason: 'manual_run' });
  });
});

describe('a comment', () => {
  it('is said on the own task, in the own name, and logged with what it was about', async () => {
    const ada = await desk.worker();
    const { comment_id } = await ada.must<{ comment_id: string }>('POST /comments', { body: 'The door is mended.' });
    const { items } = await desk.office.must<{ items: unknown[] }>(`GET /tasks/${ada.run.taskId}/comments`);
    expect(items).toMatchObject([
      {
        id: comment_id,
        source: 'agent',
        author: { kind: 'agent', id: ada.run.agentId },
        run_id: ada.run.runId,
        body: 'The door is mended.',
      },
    ]);
    expect(await ada.lastLogged()).toEqual(['runtime.action', { action: 'post_comment', target_type: 'task', target_id: ada.run.taskId }]);
  });

  it('never keeps a secret that its run was given', async () => {
    const ada = await desk.worker();
    const secrets = desk.office.app.app.get(RunSecrets, { strict: false });
    secrets.hold(ada.run, [{ name: 'KEY', value: 'correct horse battery' }]);
    await ada.must('POST /comments', { body: 'I was given correct horse battery.' });
    secrets.release(ada.run);
    const { items } = await desk.office.must<{ items: unknown[] }>(`GET /tasks/${ada.run.taskId}/comments`);
    expect(items).toMatchObject([{ body: 'I was given [secret:KEY].' }]);
  });

  it('never wakes whoever said it, but whom it mentions', async () => {
    const ada = await desk.worker({ handle: 'ada-herself' });
    const bob = await desk.agent({ name: 'Bob', handle: 'bob' });
    await ada.must('POST /comments', { body: '@ada-herself and @bob: look' });
    expect(await waitingOf(ada.run.agentId)).toEqual([]);
    expect(await waitingOf(bob)).toMatchObject([{ reason: 'mentioned', task_id: ada.run.taskId }]);
  });

  it('on another task of one’s own wakes nobody either, nor does moving it', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    const other = await desk.task({ assignee_agent_instance_id: ceo.run.agentId });
    await desk.office.complete(await desk.office.startPair(desk.workspaceId, ceo.run.agentId, other));
    await ceo.must('POST /comments', { task_id: other, body: 'This one next.' });
    await ceo.must(`POST /tasks/${other}/status`, { status: 'in_progress', comment: 'Begun.' });
    expect(await waitingOf(ceo.run.agentId)).toEqual([]);
  });

  it('on a colleague’s task wakes the colleague', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    const bob = await desk.worker();
    await desk.office.complete(bob.run);
    await ceo.must('POST /comments', { task_id: bob.run.taskId, body: 'How far are you?' });
    expect(await waitingOf(bob.run.agentId)).toMatchObject([{ reason: 'agent_comment', task_id: bob.run.taskId }]);
    expect(await ceo.lastLogged()).toMatchObject(['runtime.action', { target_id: bob.run.taskId }]);
  });

  it('needs a task', async () => {
    const idler = await desk.idler();
    expect(await idler.ask('POST /comments', { body: 'Hello?' })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', fields: [{ path: 'task_id' }] },
    });
    expect(await idler.lastLogged()).toMatchObject(['runtime.denied', { action: 'post_comment', error: 'validation_failed' }]);
  });

  it('is said once under an Idempotency-Key, and answered twice', async () => {
    const ada = await desk.worker();
    const say = (body: string) => ada.ask('POST /comments', { body }, { 'idempotency-key': 'k-1' });
    const [first, second] = [await say('Once'), await say('Once')];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect((await say('Twice')).body).toMatchObject({ code: 'idempotency_key_reused' });
    expect((await ada.log()).map(({ event_type }) => event_type)).toEqual(['runtime.action', 'runtime.denied']);
  });
});

describe('a change of status', () => {
  it('moves the task, says why, and wakes nobody who did it', async () => {
    const ada = await desk.worker();
    expect(await ada.must(`POST /tasks/${ada.run.taskId}/status`, { status: 'in_review', comment: 'Please look.' })).toEqual({
      task_id: ada.run.taskId,
      state: 'REVIEW',
    });
    expect(await waitingOf(ada.run.agentId)).toEqual([]);
    expect(await rows(`select body from task_comments where task_id = $1`, ada.run.taskId)).toEqual([{ body: 'Please look.' }]);
    expect(
      await rows(
        `select from_state, to_state, actor_kind, actor_id from task_state_changes where task_id = $1 and to_state = 'REVIEW'`,
        ada.run.taskId,
      ),
    ).toEqual([{ from_state: 'IN_PROGRESS', to_state: 'REVIEW', actor_kind: 'agent', actor_id: ada.run.agentId }]);
  });

  it('may end a task, which lets the turn finish, and open none again', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    const done = await desk.task();
    await desk.office.must(`PATCH /tasks/${done}`, { state: 'done' });
    expect(await ceo.ask(`POST /tasks/${done}/status`, { status: 'todo' })).toMatchObject({
      status: 409,
      body: { code: 'illegal_transition', from: 'DONE', to: 'TODO' },
    });
    expect(await ceo.must(`POST /tasks/${ceo.run.taskId}/status`, { status: 'done' })).toMatchObject({ state: 'DONE' });
    expect(await ceo.must('GET /me')).toMatchObject({ task: { state: 'DONE' } });
  });

  it('undoes its comment when the move is refused', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    const done = await desk.task();
    await desk.office.must(`PATCH /tasks/${done}`, { state: 'done' });
    await ceo.ask(`POST /tasks/${done}/status`, { status: 'todo', comment: 'again' });
    expect(await rows(`select from task_comments where task_id = $1`, done)).toEqual([]);
  });

  it('to cancelled stops the own run: its token is dead from then on', async () => {
    const ada = await desk.worker();
    await ada.must(`POST /tasks/${ada.run.taskId}/status`, { status: 'cancelled' });
    expect(await ada.ask('GET /me')).toMatchObject({ status: 401, body: { error: 'invalid runtime token' } });
  });
});

describe('a subtask', () => {
  it('stands below its parent and wakes whoever it is given to, oneself included', async () => {
    const ada = await desk.worker();
    const { task_id } = await ada.must<{ task_id: string }>(`POST /tasks/${ada.run.taskId}/subtasks`, {
      title: 'Oil the hinges',
      assignee_agent_id: ada.run.agentId,
    });
    expect(await desk.office.must(`GET /tasks/${task_id}`)).toMatchObject({
      parent_id: ada.run.taskId,
      assignee_agent_instance_id: ada.run.agentId,
      created_by: { kind: 'agent', id: ada.run.agentId },
    });
    expect(await waitingOf(ada.run.agentId)).toMatchObject([{ reason: 'task_assigned', task_id }]);
  });

  it('is for somebody else only with assign_tasks', async () => {
    const [ada, bob] = [await desk.worker(), await desk.agent()];
    const assistant = await desk.worker({ role: 'assistant' });
    expect(await ada.ask(`POST /tasks/${ada.run.taskId}/subtasks`, { title: 'Oil', assignee_agent_id: bob })).toMatchObject({
      status: 403,
      body: { code: 'capability_denied', needed: 'assign_tasks' },
    });
    await assistant.must(`POST /tasks/${assistant.run.taskId}/subtasks`, { title: 'Oil', assignee_agent_id: bob });
    expect(await waitingOf(bob)).toHaveLength(1);
  });

  it('is nested three deep by the CEO, and not at all by others', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    let parent = ceo.run.taskId!;
    for (const depth of [1, 2, 3]) {
      parent = (await ceo.must<{ task_id: string }>(`POST /tasks/${parent}/subtasks`, { title: `Depth ${depth}` })).task_id;
    }
    expect(await ceo.ask(`POST /tasks/${parent}/subtasks`, { title: 'Depth 4' })).toMatchObject({
      status: 409,
      body: { code: 'subtask_too_deep', depth: 4 },
    });
    const ada = await desk.worker({}, { parent_id: ceo.run.taskId });
    expect(await ada.ask(`POST /tasks/${ada.run.taskId}/subtasks`, { title: 'Deeper' })).toMatchObject({ status: 409 });
  });
});

describe('a spawned run', () => {
  it('answers at once, waits for nobody, and carries the note', async () => {
    const assistant = await desk.worker({ role: 'assistant' });
    const bob = await desk.agent();
    const answer = await assistant.ask(`POST /agents/${bob}/runs`, { note: 'Count the doors.', payload: { floor: 2 } });
    expect(answer).toMatchObject({ status: 202, body: { run_id: expect.any(String), outcome: 'queued' } });
    expect(await waitingOf(bob)).toEqual([{ reason: 'agent_spawned', task_id: null, note: 'Count the doors.\n\n{\n  "floor": 2\n}' }]);
    expect(await assistant.lastLogged()).toEqual(['runtime.action', { action: 'spawn_agent_run', target_type: 'agent', target_id: bob }]);
  });

  it('ends a chain after eight, visibly: refused, logged and listed', async () => {
    let at = await desk.idler({ role: 'assistant' });
    for (let depth = 1; depth <= 8; depth++) {
      const next = await desk.agent({ role: 'assistant' });
      await at.must(`POST /agents/${next}/runs`, {});
      const run = (await desk.office.start(desk.workspaceId)).find(({ agentId }) => agentId === next)!;
      at = desk.atWork(run);
    }
    const last = await desk.agent();
    expect(await at.ask(`POST /agents/${last}/runs`, {})).toMatchObject({
      status: 409,
      body: { code: 'wake_refused', reason: 'too_deep' },
    });
    expect(await at.log()).toMatchObject([
      { event_type: 'runtime.denied', payload: { action: 'spawn_agent_run', target_id: last, error: 'wake_refused' } },
    ]);
    expect(await rows(`select outcome, refused_reason from wake_requests where agent_id = $1`, last)).toEqual([
      { outcome: 'refused', refused_reason: 'too_deep' },
    ]);
  });

  it('refused under an Idempotency-Key is refused again, and written down once', async () => {
    const assistant = await desk.worker({ role: 'assistant' });
    const stopped = await desk.agent();
    await desk.office.must(`POST /agents/${stopped}/stop`);
    const spawn = () => assistant.ask(`POST /agents/${stopped}/runs`, {}, { 'idempotency-key': 'once' });
    const [first, second] = [await spawn(), await spawn()];
    expect([first.status, second.status, second.body]).toEqual([409, 409, first.body]);
    expect(await assistant.log()).toHaveLength(1);
  });
});

describe('skills', () => {
  it('are listed, the office’s own among them, and deleted only by whoever may', async () => {
    const { id } = await desk.office.must<{ id: string }>(`POST /workspaces/${desk.workspaceId}/skills`, {
      slug: 'doors',
      name: 'Doors',
      description: 'Use when a door squeaks.',
      content: 'Oil it.',
    });
    const ada = await desk.worker();
    const janitor = await desk.worker({ permissions: { allow: ['delete_skills'] } });
    const { items } = await ada.must<{ items: { id: string; slug: string; is_system: boolean }[] }>('GET /skills');
    expect(items.map(({ slug }) => slug)).toEqual(['doors', 'office-api', 'office-memory', 'office-teamwork']);
    expect(await ada.ask(`DELETE /skills/${id}`)).toMatchObject({ status: 403, body: { code: 'capability_denied' } });
    const own = items.find(({ is_system }) => is_system)!;
    expect(await janitor.ask(`DELETE /skills/${own.id}`)).toMatchObject({ status: 409, body: { code: 'skill_read_only' } });
    expect(await janitor.must(`DELETE /skills/${id}`)).toEqual({ id, deleted: true });
    expect(await janitor.lastLogged()).toEqual(['runtime.action', { action: 'delete_skill', target_type: 'skill', target_id: id }]);
  });
});

describe('the log of a run', () => {
  it('is written in the action’s own transaction, and in one of its own where the action was refused', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    const done = await desk.task();
    await desk.office.must(`PATCH /tasks/${done}`, { state: 'done' });
    await ceo.must('POST /comments', { body: 'Begun' });
    await ceo.ask(`POST /tasks/${done}/status`, { status: 'todo', comment: 'undone again' });
    const logged = await rows<{ event_type: string; with_its_comment: boolean }>(
      `select e.event_type, exists (select from task_comments c where c.run_id = e.run_id and c.xmin = e.xmin) as with_its_comment
         from office_run_events e where e.run_id = $1 and e.event_type like 'runtime.%' order by e.seq`,
      ceo.run.runId,
    );
    expect(logged).toEqual([
      { event_type: 'runtime.action', with_its_comment: true },
      { event_type: 'runtime.denied', with_its_comment: false },
    ]);
  });

  it('has what the office itself lacked, which is our fault and says so', async () => {
    const ada = await desk.worker();
    class Missing extends RuntimeAction {
      static readonly declared: ActionDeclaration = RUNTIME_ACTIONS.find(({ declared }) => declared.action === 'me')!.declared;
      override perform = (): Promise<object> => Promise.resolve({});
    }
    const app = desk.office.app.app;
    const run = await app.get(RunDoor, { strict: false }).identify(`Bearer ${ada.token}`);
    const doing = app.get(RuntimeActions, { strict: false }).perform(Missing, { run, body: {}, fields: {}, idempotency: null });
    await expect(doing).rejects.toMatchObject({ code: 'runtime_dependency_missing', status: 500 });
  });

  it('numbers what many calls at once do without a gap', async () => {
    const ada = await desk.worker();
    const calls = Array.from({ length: 40 }, (_, n) =>
      n % 4 === 0
        ? ada.ask('POST /comments', { body: '' })
        : n % 4 === 1
          ? ada.ask('POST /agents', {})
          : ada.ask('POST /comments', { body: `Call ${n}` }),
    );
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(20);
    const log = await ada.log();
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    expect(log.filter(({ event_type }) => event_type === 'runtime.denied')).toHaveLength(20);
  });
});
