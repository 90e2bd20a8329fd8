import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { RuntimeDesk, type Worker } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
let ada: Worker;
let url: URL;
beforeAll(async () => {
  desk = await RuntimeDesk.open();
  ada = await desk.worker();
  url = new URL(await desk.listen());
});
afterAll(() => desk.close());

const of = (namespace: string, id: string, key = 'notes'): string =>
  `/memory/workspaces/${desk.workspaceId}/memory/${namespace}/${id}/${key}`;
const own = (key = 'notes'): string => of('agents', ada.run.agentId, key);

/** The path exactly as written: clients tidy up dots before they send them. */
function rawly(method: string, path: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname);
    const body = JSON.stringify({ content: 'x' });
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.once('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])));
    socket.once('error', reject);
    socket.write(
      `${method} /api/v1/runtime${path} HTTP/1.1\r\nHost: office\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
}

describe('memory', () => {
  it('keeps a text under a path, and says what it replaced', async () => {
    const first = await ada.must(`PUT ${own('a/b c')}`.replace(' c', '%20c'), { content: 'one' });
    expect(first).toEqual({
      path: `workspaces/${desk.workspaceId}/memory/agents/${ada.run.agentId}/a/b c`,
      content: 'one',
      updated_at: expect.stringMatching(/\.\d{3}Z$/),
      replaced: null,
    });
    const second = await ada.must(`PUT ${own('a/b%20c')}`, { content: 'two' });
    expect(second).toMatchObject({ content: 'two', replaced: { content: 'one', updated_at: first.updated_at } });
    expect(await ada.must(`GET ${own('a/b%20c')}`)).toEqual({ path: first.path, content: 'two', updated_at: second.updated_at });
    expect(await ada.lastLogged()).toEqual([
      'runtime.action',
      { action: 'read_memory', target_type: 'memory', target_id: String(first.path) },
    ]);
  });

  it('is one key however it is spelled', async () => {
    await ada.must(`PUT ${own(encodeURIComponent('U\u0308ber'))}`, { content: 'x' });
    expect(await ada.must(`GET ${own(encodeURIComponent('Über'))}`)).toMatchObject({ content: 'x' });
  });

  it('does not know what nobody kept', async () => {
    expect(await ada.ask(`GET ${own('nothing')}`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await ada.lastLogged()).toMatchObject(['runtime.denied', { action: 'read_memory', error: 'not_found' }]);
  });

  it('of tasks, projects and skills is shared; of an agent it is its own', async () => {
    const bob = await desk.worker();
    const foreign = await desk.task();
    const projectId = newId();
    await desk.office.rows(`insert into projects (id, workspace_id, name) values ($1, $2, 'Doors')`, projectId, desk.workspaceId);
    const { items } = await ada.must<{ items: { id: string }[] }>('GET /skills');
    for (const path of [of('tasks', foreign), of('projects', projectId), of('skills', items[0]!.id)]) {
      await ada.must(`PUT ${path}`, { content: 'ours' });
      expect(await bob.must(`GET ${path}`)).toMatchObject({ content: 'ours' });
    }
    await ada.must(`PUT ${own()}`, { content: 'mine' });
    for (const request of [`GET ${own()}`, `PUT ${own()}`]) {
      const answer = await bob.ask(request, request.startsWith('PUT') ? { content: 'stolen' } : undefined);
      expect(answer).toMatchObject({ status: 403, body: { code: 'capability_denied' } });
    }
    // Also of a key that is none: nobody learns what another agent could keep.
    expect(await rawly('GET', own('%2e%2e'), bob.token)).toBe(403);
    expect(await ada.must(`GET ${own()}`)).toMatchObject({ content: 'mine' });
  });

  it('ends at the workspace', async () => {
    const there = await desk.elsewhere();
    const stranger = await there.worker();
    const { items } = await stranger.must<{ items: { id: string }[] }>('GET /skills');
    const outside = [
      of('tasks', stranger.run.taskId!),
      of('agents', stranger.run.agentId),
      of('skills', items[0]!.id),
      of('tasks', newId()),
      of('projects', newId()),
      of('tasks', 'no-uuid'),
      `/memory/workspaces/${there.workspaceId}/memory/tasks/${ada.run.taskId}/notes`,
      `/memory/workspaces/nowhere/memory/tasks/${ada.run.taskId}/notes`,
    ];
    for (const path of outside) {
      expect([path, (await ada.ask(`GET ${path}`)).body]).toEqual([path, expect.objectContaining({ code: 'workspace_out_of_scope' })]);
    }
  });

  it('of a deleted task is gone with it', async () => {
    const taskId = await desk.task();
    await ada.must(`PUT ${of('tasks', taskId)}`, { content: 'x' });
    await desk.office.must(`DELETE /tasks/${taskId}`);
    expect(await ada.ask(`GET ${of('tasks', taskId)}`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await desk.office.rows(`select from memory_entries where owner_id = $1`, taskId)).toEqual([]);
  });

  it.each([
    ['..', 400],
    ['a/../b', 400],
    ['../../../agents', 400],
    ['%2e%2e/x', 400],
    ['a/%2E%2E/b', 400],
    ['%252e%252e/x', 400],
    ['a%2Fb', 400],
    ['..%2f..%2fsecrets', 400],
    ['a%5C..%5Cb', 400],
    ['a//b', 400],
    ['a/', 400],
    ['', 400],
    ['%00', 400],
    ['%ef%bc%8e%ef%bc%8e', 400],
    ['%e2%80%8b', 400],
    ['%ff', 400],
    ['a'.repeat(501), 400],
    ['a'.repeat(1_000), 400],
    ['%e6%97%a5%e6%9c%ac', 200],
    ['...a', 200],
  ])('answers the key %s', async (key, status) => {
    const before = await desk.office.rows<{ n: number }>(`select count(*)::int as n from memory_entries`);
    expect(await rawly('PUT', own(key), ada.token)).toBe(status);
    if (status === 200) return;
    expect(await rawly('GET', own(key), ada.token)).toBe(400);
    expect(await desk.office.rows(`select count(*)::int as n from memory_entries`)).toEqual(before);
  });

  it('refuses what is too long or of another shape', async () => {
    const put = (body: unknown) => ada.ask(`PUT ${own('shape')}`, body);
    expect((await put({ content: 'x'.repeat(256 * 1024 + 1) })).body).toMatchObject({ fields: [{ path: 'content' }, { path: 'content' }] });
    expect((await put({ content: 'x', if_updated_at: 'yesterday' })).body).toMatchObject({ fields: [{ path: 'if_updated_at' }] });
    expect((await put({ content: 'x', ttl: 1 })).body).toMatchObject({ fields: [{ path: 'ttl' }] });
    expect((await put({ content: 'x'.repeat(256 * 1024) })).status).toBe(200);
  });

  it('holds a thousand entries of one owner, and not one more', async () => {
    await desk.office.rows(
      `insert into memory_entries (workspace_id, namespace, owner_id, key, content, updated_at, agent_id, run_id)
       select $1, 'tasks', $2, 'k' || n, '', now(), $3, $4 from generate_series(1, 999) n`,
      desk.workspaceId,
      ada.run.taskId,
      ada.run.agentId,
      ada.run.runId,
    );
    const put = (key: string) => ada.ask(`PUT ${of('tasks', ada.run.taskId!, key)}`, { content: 'x' });
    const both = await Promise.all([put('last'), put('one-more')]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect((await put('k1')).status).toBe(200);
    expect((await put('another')).body).toMatchObject({ code: 'memory_full' });
  });
});

describe('two writers of one key', () => {
  const put = (worker: Worker, key: string, body: object) => worker.ask(`PUT ${of('tasks', ada.run.taskId!, key)}`, body);
  beforeAll(() => desk.office.rows(`delete from memory_entries`));

  it('of the same state: one writes, the other is told to read again', async () => {
    const bob = await desk.worker();
    const { updated_at } = (await put(ada, 'shared', { content: '0' })).body;
    const both = await Promise.all([
      put(ada, 'shared', { content: 'ada', if_updated_at: updated_at }),
      put(bob, 'shared', { content: 'bob', if_updated_at: updated_at }),
    ]);
    const [won, lost] = both.toSorted((a, b) => a.status - b.status);
    expect([won!.status, lost!.status]).toEqual([200, 409]);
    expect(lost!.body).toMatchObject({ code: 'memory_conflict', updated_at: won!.body.updated_at });
    const again = await put(ada, 'shared', { content: 'again', if_updated_at: lost!.body.updated_at });
    expect(again).toMatchObject({ status: 200, body: { replaced: { content: won!.body.content } } });
  });

  it('of nothing yet: null lets one of them make it', async () => {
    const bob = await desk.worker();
    const both = await Promise.all([ada, bob].map((worker) => put(worker, 'fresh', { content: worker.run.agentId, if_updated_at: null })));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect((await put(ada, 'absent', { content: 'x', if_updated_at: '2026-01-01T00:00:00.000Z' })).body).toMatchObject({
      code: 'memory_conflict',
      updated_at: null,
    });
  });

  it('who do not ask are each told whom they replaced: a chain without a loss', async () => {
    const writes = await Promise.all(Array.from({ length: 20 }, (_, n) => put(ada, 'chain', { content: String(n) })));
    const answers = writes.map(({ body }) => body as { content: string; updated_at: string; replaced: { content: string } | null });
    expect(answers.filter(({ replaced }) => replaced === null)).toHaveLength(1);
    const replaced = answers.flatMap((answer) => (answer.replaced === null ? [] : [answer.replaced.content]));
    expect(new Set(replaced).size).toBe(19);
    // Each is later than the one it replaced, so that a comparison of times never lies.
    expect(new Set(answers.map(({ updated_at }) => updated_at)).size).toBe(20);
  });
});
