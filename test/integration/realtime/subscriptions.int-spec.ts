import { randomUUID } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { aPerson, aToken, aWorkspace, type SomePerson } from '../../support/front-desk.js';
import { waitFor } from '../../support/real-server.js';
import { openSocketOffice, RawClient, refusedUpgrade, upTo, type SocketOffice } from '../../support/socket-office.js';

let office: SocketOffice;
let ann: SomePerson;
let workspace: string;
const clients: RawClient[] = [];

beforeAll(async () => {
  office = await openSocketOffice();
  ann = await aPerson(office);
  workspace = await aWorkspace(office, [[ann, 'member']]);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.cut();
});
afterAll(() => office.close());

async function connect(token = ann.token, options: object = {}): Promise<RawClient> {
  const client = await RawClient.connect(office.url, token, options);
  clients.push(client);
  return client;
}

const remove = (workspaceId: string, person: SomePerson) =>
  office.ask(`DELETE /api/v1/workspaces/${workspaceId}/members/${person.id}`, { token: office.adminToken });

describe('the upgrade', () => {
  it.each([
    ['no credential', {}],
    ['a token that is nobody’s', { headers: { authorization: 'Bearer office_nobody' } }],
    ['another scheme', { headers: { authorization: 'Basic b2ZmaWNl' } }],
    ['a bare subprotocol', { protocols: ['office.v1'] }],
    ['a token of an agent’s run', { headers: { authorization: `Bearer ${jwt({ iss: 'agent-office', run: randomUUID() })}` } }],
    ['such a token as a subprotocol', { protocols: ['office.v1', `bearer.${jwt({ run: randomUUID() })}`] }],
  ])('refuses %s in plain HTTP', async (_what, options) => {
    const { status, body } = await refusedUpgrade(office.url, options);
    expect(status).toBe(401);
    expect(JSON.parse(body)).toMatchObject({ code: 'unauthenticated' });
  });

  it('refuses a token in the address, even beside a proper one', async () => {
    const path = `/ws?token=${ann.token}`;
    expect(await refusedUpgrade(office.url, { path })).toMatchObject({ status: 401 });
    expect(await refusedUpgrade(office.url, { path, headers: { authorization: `Bearer ${ann.token}` } })).toMatchObject({ status: 401 });
    expect(office.log.join('\n')).not.toContain(ann.token);
  });

  it('knows no other path', async () => {
    const headers = { authorization: `Bearer ${ann.token}` };
    expect(await refusedUpgrade(office.url, { headers, path: '/socket' })).toMatchObject({ status: 404 });
    expect(await refusedUpgrade(office.url, { headers, path: '/ws/' })).toMatchObject({ status: 404 });
  });

  it('leaves requests alone that ask for another protocol, bodies included', async () => {
    const { port, hostname } = new URL(office.url);
    const wire = connectTcp(Number(port), hostname);
    const body = JSON.stringify({ name: 'Upgraded', is_instance_admin: false });
    const ask = (route: string, ...more: string[]) =>
      wire.write(
        [`${route} HTTP/1.1`, `Host: ${hostname}`, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', ...more, '\r\n'].join('\r\n'),
      );
    let answers = '';
    wire.setEncoding('utf8').on('data', (text: string) => (answers += text));
    ask(
      'POST /api/v1/users',
      `Authorization: Bearer ${office.adminToken}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    wire.write(body);
    await waitFor(() => /201 Created[^]*"name":"Upgraded"/.test(answers), 5_000, 'the answer to the first');
    ask('GET /health/live');
    await waitFor(() => /200 OK[^]*"status":"ok"/.test(answers), 5_000, 'the answer to the second');
    wire.destroy();
  });

  it('takes the token as a subprotocol and selects its own', async () => {
    const { WebSocket } = await import('ws');
    const socket = new WebSocket(`${office.url.replace('http', 'ws')}/ws`, ['office.v1', `bearer.${ann.token}`]);
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    expect(socket.protocol).toBe('office.v1');
    socket.terminate();
  });
});

describe('a workspace', () => {
  it('is told from a place on, then live, in order, each once', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const before = await office.tell(ws, 20);
    const client = await connect();
    const answer = await client.ask('workspace.subscribe', { workspace_id: ws, after: 5 });
    expect(answer).toMatchObject({ type: 'response', action: 'workspace.subscribe', payload: { last_seq: before } });
    const last = await office.tell(ws, 20);
    await client.until(() => client.seqs.at(-1) === last, 'the last event');
    expect(client.seqs).toEqual(upTo(last, 6));
    expect(client.notifications[0]).toEqual({
      type: 'notification',
      action: 'office.task.updated',
      payload: { task_id: ws, fields: ['title'] },
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      seq: 6,
      workspace_id: ws,
    });
  });

  it('without a place is told from now on', async () => {
    await office.tell(workspace, 3);
    const client = await connect();
    const { payload } = await client.ask('workspace.subscribe', { workspace_id: workspace });
    const last = await office.tell(workspace, 2);
    await client.until(() => client.seqs.at(-1) === last, 'the last event');
    expect(client.seqs).toEqual(upTo(last, (payload as { last_seq: number }).last_seq + 1));
  });

  it('reaches everybody who joins while others write', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const before = await office.tell(ws, 300);
    const total = before + 400;
    const writing = Promise.all(upTo(4).map(() => office.tell(ws, 100)));
    const joined = await Promise.all(
      upTo(12).map(async (n) => {
        const client = await connect();
        await client.ask('workspace.subscribe', { workspace_id: ws, after: n * 20 });
        return { client, after: n * 20 };
      }),
    );
    await writing;
    for (const { client, after } of joined) {
      await client.until(() => client.seqs.at(-1) === total, 'the last event');
      expect(client.seqs).toEqual(upTo(total, after + 1));
    }
  });

  it('ends with its unsubscription, and a second subscription takes the place of the first', async () => {
    const client = await connect();
    const first = await office.tell(workspace, 2);
    await client.ask('workspace.subscribe', { workspace_id: workspace, after: first - 1 });
    await client.until(() => client.seqs.length === 1, 'the first event');
    await client.ask('workspace.subscribe', { workspace_id: workspace, after: first - 2 });
    const last = await office.tell(workspace, 1);
    await client.until(() => client.seqs.at(-1) === last, 'the last event');
    expect(client.seqs).toEqual([first, first - 1, first, last]);
    await client.ask('workspace.unsubscribe', { workspace_id: workspace });
    await office.tell(workspace, 1);
    expect((await client.ask('health.check')).payload).toEqual({ status: 'ok', positions: {} });
    expect(client.seqs).toHaveLength(4);
  });

  it('tells what was committed without a nudge within a second or two', async () => {
    const client = await connect();
    await client.ask('workspace.subscribe', { workspace_id: workspace });
    await office.rows(
      `with c as (update office_event_counters set last_seq = last_seq + 1 where workspace_id = $1 returning last_seq)
       insert into office_events (workspace_id, seq, action, payload) select $1, last_seq, 'office.task.updated', '{"task_id":"x","fields":[]}' from c`,
      [workspace],
    );
    await client.until(() => client.seqs.length === 1, 'the event that no nudge told of', 5_000);
  });

  it.each([
    ['has never come so far', (last: number) => last + 1],
    ['was pruned', () => 0],
  ])('refuses a place that %s', async (_why, placeFor) => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const last = await office.tell(ws, 10);
    await office.rows(`delete from office_events where workspace_id = $1 and seq < 5`, [ws]);
    await office.rows(`update office_event_counters set oldest_seq = 5 where workspace_id = $1`, [ws]);
    const client = await connect();
    const answer = await client.ask('workspace.subscribe', { workspace_id: ws, after: placeFor(last) });
    expect(answer).toMatchObject({ type: 'error', payload: { code: 'RESYNC_REQUIRED', oldest_seq: 5, last_seq: last } });
    await client.ask('workspace.subscribe', { workspace_id: ws, after: 4 });
    await client.until(() => client.seqs.at(-1) === last, 'the last event');
    expect(client.seqs).toEqual(upTo(last, 5));
  });
});

describe('a task', () => {
  it('is told of what concerns it, with the name of the request, and nothing else', async () => {
    const task = await aTaskRow(workspace);
    const client = await connect();
    await client.ask('task.subscribe', { task_id: task });
    await office.tell(workspace, 1, { task_id: randomUUID() });
    await office.tell(workspace, 1, { task_id: task });
    await office.unitOfWork.run(workspace, async (tx) =>
      tx.emit('office.inbox_item', { kind: 'k', item_id: randomUUID(), task_ids: [randomUUID(), task], title: 't', change: 'opened' }),
    );
    const last = await office.tell(workspace, 1, { task_id: task });
    await client.until(() => client.seqs.at(-1) === last, 'the last event');
    expect(client.seqs).toEqual([last - 2, last - 1, last]);
    expect(new Set(client.notifications.map(({ id }) => id))).toEqual(new Set(['q1']));
  });
});

describe('a run', () => {
  it('is told of its own log, from a place on and live', async () => {
    const run = await aRunRow(workspace);
    const log = (seq: number) =>
      office.unitOfWork.run(workspace, async (tx) => {
        await tx.query(
          `insert into office_run_events (run_id, seq, workspace_id, event_type, payload) values ($1, $2, $3, 'note', '{"n":1}')`,
          [run, seq, workspace],
        );
        tx.nudge('run_events');
      });
    for (const seq of upTo(5)) await log(seq);
    const client = await connect();
    expect(await client.ask('run.subscribe', { run_id: run, after: 2 })).toMatchObject({ payload: { last_seq: 5 } });
    await log(6);
    await client.until(() => client.seqs.at(-1) === 6, 'the last line');
    expect(client.seqs).toEqual([3, 4, 5, 6]);
    expect(client.notifications[0]).toMatchObject({
      id: 'q1',
      action: 'run.event',
      payload: { run_id: run, event_type: 'note', level: 'info', payload: { n: 1 } },
      workspace_id: workspace,
    });
    expect(await client.ask('run.subscribe', { run_id: run, after: 9 })).toMatchObject({ payload: { code: 'RESYNC_REQUIRED' } });
  });
});

describe('who may listen', () => {
  it('never learns anything of another workspace, guessed ids or not', async () => {
    const theirs = await aWorkspace(office);
    const [task, run] = [await aTaskRow(theirs), await aRunRow(theirs)];
    const client = await connect();
    const asked: [string, object][] = [
      ['workspace.subscribe', { workspace_id: theirs }],
      ['workspace.subscribe', { workspace_id: theirs, after: 0 }],
      ['workspace.subscribe', { workspace_id: randomUUID() }],
      ['task.subscribe', { task_id: task }],
      ['task.subscribe', { task_id: theirs }],
      ['run.subscribe', { run_id: run }],
      ['run.subscribe', { run_id: randomUUID(), after: 0 }],
    ];
    const answers = [];
    for (const [action, payload] of asked) answers.push(await client.ask(action, payload));
    expect(new Set(answers.map(({ payload }) => JSON.stringify(payload)))).toEqual(
      new Set([JSON.stringify({ code: 'NOT_FOUND', message: 'There is no such thing here.' })]),
    );
    await office.tell(theirs, 3);
    await client.ask('health.check');
    expect(client.notifications).toEqual([]);
  });

  it('hears nothing that was committed after the removal, also in the middle of a replay', async () => {
    const ben = await aPerson(office, { name: 'Ben' });
    for (const round of upTo(3)) {
      const ws = await aWorkspace(office, [[ben, 'member']]);
      await office.tell(ws, 400);
      const [live, replaying] = [await connect(ben.token), await connect(ben.token)];
      await live.ask('workspace.subscribe', { workspace_id: ws });
      void replaying.ask('workspace.subscribe', { workspace_id: ws, after: 0 }).catch(() => undefined);
      const writing = office.tell(ws, 40);
      if (round % 2 === 0) await live.until(() => live.seqs.length > 3, 'some events');
      await remove(ws, ben);
      const [counter] = await office.rows<{ last_seq: string }>(`select last_seq from office_event_counters where workspace_id = $1`, [ws]);
      const atRemoval = Number(counter!.last_seq);
      await writing;
      await office.tell(ws, 10);
      const told = await live.until(
        () => live.frames.find(({ type, id }) => type === 'error' && id === undefined),
        'the word of the removal',
      );
      expect(told).toMatchObject({ action: 'workspace.subscribe', workspace_id: ws, payload: { code: 'FORBIDDEN', workspace_id: ws } });
      await replaying.ask('health.check');
      for (const client of [live, replaying]) {
        expect(client.seqs.filter((seq) => seq > atRemoval)).toEqual([]);
        expect((await client.ask('health.check')).payload).toMatchObject({ positions: {} });
      }
    }
  });

  it('is told of the removal where nothing happens', async () => {
    const ben = await aPerson(office, { name: 'Ben' });
    const ws = await aWorkspace(office, [[ben, 'member']]);
    const client = await connect(ben.token);
    await client.ask('workspace.subscribe', { workspace_id: ws });
    await remove(ws, ben);
    await client.until(() => client.frames.find(({ type }) => type === 'error'), 'the word of the removal', 5_000);
    expect(await client.ask('workspace.subscribe', { workspace_id: ws })).toMatchObject({ payload: { code: 'NOT_FOUND' } });
  });

  it.each([
    ['revoked', (id: string) => office.rows(`update access_tokens set revoked_at = now() where user_id = $1`, [id])],
    ['expired', (id: string) => office.rows(`update access_tokens set expires_at = now() where user_id = $1`, [id])],
  ])('is closed with 4001 once the token is %s, and hears nothing in between', async (_how, end) => {
    const ben = await aPerson(office, { name: 'Ben' });
    const ws = await aWorkspace(office, [[ben, 'member']]);
    const [listening, idle] = [await connect(ben.token), await connect(ben.token)];
    await listening.ask('workspace.subscribe', { workspace_id: ws });
    await end(ben.id);
    await office.tell(ws, 3);
    expect(await listening.gone()).toMatchObject({ code: 4001 });
    expect(await idle.gone()).toMatchObject({ code: 4001 });
    expect(listening.notifications).toEqual([]);
  });

  it('is not touched by the end of another token of the same person', async () => {
    const client = await connect();
    await client.ask('workspace.subscribe', { workspace_id: workspace });
    const other = await aToken(office, ann.id, ['read']);
    const ended = await connect(other);
    await office.rows(`update access_tokens set revoked_at = now() where user_id = $1 and scopes = '{read}'`, [ann.id]);
    await ended.gone();
    const last = await office.tell(workspace, 1);
    await client.until(() => client.seqs.at(-1) === last, 'the event');
  });
});

describe('GET /workspaces/:ws/events', () => {
  const get = (ws: string, query = '', token = ann.token) => office.ask(`GET /api/v1/workspaces/${ws}/events${query}`, { token });

  it('answers what follows a place, and how far there is to go', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    expect((await get(ws)).body).toEqual({ items: [], last_seq: 0, oldest_seq: 1 });
    const last = await office.tell(ws, 7);
    const { body } = await get(ws, '?after=2&limit=3');
    expect(body).toMatchObject({ last_seq: last, oldest_seq: 1, items: [{ seq: 3 }, { seq: 4 }, { seq: 5 }] });
    expect((body.items as object[])[0]).toEqual({
      seq: 3,
      action: 'office.task.updated',
      payload: { task_id: ws, fields: ['title'] },
      timestamp: expect.any(String) as string,
    });
    expect((await get(ws, `?after=${last}`)).body).toMatchObject({ items: [] });
  });

  it('refuses a place before the floor, or one that never was, with 410', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const last = await office.tell(ws, 7);
    await office.rows(`delete from office_events where workspace_id = $1 and seq < 4`, [ws]);
    await office.rows(`update office_event_counters set oldest_seq = 4 where workspace_id = $1`, [ws]);
    for (const after of [0, 2, last + 1]) {
      expect(await get(ws, `?after=${after}`)).toMatchObject({
        status: 410,
        body: { code: 'resync_required', oldest_seq: 4, last_seq: last },
      });
    }
    expect((await get(ws, '?after=3')).body).toMatchObject({ items: [{ seq: 4 }, { seq: 5 }, { seq: 6 }, { seq: 7 }] });
    expect((await get(ws)).body).toMatchObject({ items: [{ seq: 4 }, { seq: 5 }, { seq: 6 }, { seq: 7 }] });
  });

  it.each(['?after=-1', '?after=x', '?limit=0', '?limit=201', '?since=1'])('refuses %s', async (query) => {
    expect((await get(workspace, query)).status).toBe(400);
  });

  it('is not there for strangers', async () => {
    expect((await get(await aWorkspace(office))).status).toBe(404);
  });
});

const jwt = (claims: object): string =>
  [{ alg: 'HS256', kid: 'k' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.') + '.c2ln';

async function aTaskRow(ws: string): Promise<string> {
  const [workflow, step, task] = [randomUUID(), randomUUID(), randomUUID()];
  await office.rows(`insert into workflows (id, workspace_id, name, style) values ($1, $2, 'w', 'office')`, [workflow, ws]);
  await office.rows(
    `insert into workflow_steps (id, workspace_id, workflow_id, position, name, kind) values ($1, $2, $3, 1, 's', 'work')`,
    [step, ws, workflow],
  );
  await office.rows(
    `insert into tasks (id, workspace_id, number, identifier, title, workflow_id, step_id, created_by_kind)
     values ($1, $2, (select coalesce(max(number), 0) + 1 from tasks where workspace_id = $2), 'T', 't', $3, $4, 'user')`,
    [task, ws, workflow, step],
  );
  return task;
}

async function aRunRow(ws: string): Promise<string> {
  const [agent, run] = [randomUUID(), randomUUID()];
  await office.rows(
    `insert into agent_instances (id, workspace_id, name, handle, role, adapter) values ($1, $2, 'A', $3, 'worker', 'mock')`,
    [agent, ws, `a${agent.replaceAll('-', '')}`],
  );
  await office.rows(
    `insert into runs (id, workspace_id, agent_id, scope, reason, wake_class, entitlement) values ($1, $2, $3, 'manual', 'manual_run', 0, 'none')`,
    [run, ws, agent],
  );
  return run;
}
