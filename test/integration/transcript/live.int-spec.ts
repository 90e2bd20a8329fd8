import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OfficeClient, type SessionEntry } from '../../../src/client/office-client.js';
import { newId } from '../../../src/platform/ids.js';
import { TranscriptWriter, type TranscribedRun } from '../../../src/transcript/transcript-writer.js';
import type { EntryWrite } from '../../../src/transcript/domain/entry.js';
import { aPerson, aWorkspace, type SomePerson } from '../../support/front-desk.js';
import { openSocketOffice, RawClient, type SocketOffice } from '../../support/socket-office.js';
import { waitFor } from '../../support/real-server.js';

let office: SocketOffice;
let ann: SomePerson;
let workspace: string;
beforeAll(async () => {
  office = await openSocketOffice();
  ann = await aPerson(office);
  workspace = await aWorkspace(office, [[ann, 'member']]);
});
afterAll(() => office.close());
const cleanUps: (() => void)[] = [];
afterEach(() => cleanUps.splice(0).forEach((cleanUp) => cleanUp()));

async function aRun(ws = workspace): Promise<TranscribedRun> {
  const [agent, session, run] = [newId(), newId(), newId()];
  await office.rows(
    `insert into agent_instances (id, workspace_id, name, handle, role, adapter) values ($1, $2, 'A', $3, 'worker', 'mock')`,
    [agent, ws, `a${agent.replaceAll('-', '')}`],
  );
  await office.rows(`insert into task_sessions (id, workspace_id, agent_id, adapter, state) values ($1, $2, $3, 'mock', 'RUNNING')`, [
    session,
    ws,
    agent,
  ]);
  await office.rows(
    `insert into runs (id, workspace_id, agent_id, scope, status, reason, wake_class, entitlement, generation, session_id, lease_host_id, lease_boot_id, lease_expires_at)
     values ($1, $2, $3, 'manual', 'running', 'manual_run', 0, 'none', 1, $4, $5, $5, now() + interval '1 hour')`,
    [run, ws, agent, session, newId()],
  );
  return { runId: run, generation: 1, workspaceId: ws, sessionId: session, turn: 1 };
}

const numbers = new Map<string, number>();
function write(run: TranscribedRun, ...entries: [place: number, body: string, isNew?: boolean][]): Promise<unknown> {
  const number = (numbers.get(run.runId) ?? 0) + 1;
  numbers.set(run.runId, number);
  const writes = entries.map(([place, body, isNew = true]): EntryWrite => ({
    place,
    isNew,
    kind: 'message',
    acpId: null,
    title: null,
    status: null,
    body,
    bytes: Buffer.byteLength(body),
    truncated: false,
  }));
  const count = Math.max(...entries.map(([place]) => place)) + 1;
  return office.app.get(TranscriptWriter, { strict: false }).write({ run, number, entries: Math.max(count, 3), tools: 0, writes });
}

describe('a session, over the socket', () => {
  it('is told of every entry changed since a revision, in its newest form, then live', async () => {
    const run = await aRun();
    await write(run, [0, 'a'], [1, 'b'], [2, 'c']);
    await write(run, [1, 'bb', false]);
    const client = await RawClient.connect(office.url, ann.token);
    cleanUps.push(() => client.cut());
    expect(await client.ask('session.subscribe', { session_id: run.sessionId, after_rev: 1 })).toMatchObject({ payload: { last_seq: 4 } });
    await client.until(() => client.seqs.at(-1) === 4, 'the last revision');
    await write(run, [0, 'aa', false]);
    await client.until(() => client.seqs.at(-1) === 5, 'the next revision');
    expect(
      client.notifications.map(({ action, seq, payload }) => [
        action,
        seq,
        (payload as { seq: number }).seq,
        (payload as { body: string }).body,
      ]),
    ).toEqual([
      ['session.entry', 3, 3, 'c'],
      ['session.entry', 4, 2, 'bb'],
      ['session.entry', 5, 1, 'aa'],
    ]);
    const { body } = await office.ask(`GET /api/v1/sessions/${run.sessionId}/entries?after_rev=4`, { token: ann.token });
    expect((body as { items: unknown[] }).items[0]).toEqual(client.notifications.at(-1)!.payload);
    expect(await client.ask('session.subscribe', { session_id: run.sessionId, after_rev: 9 })).toMatchObject({
      payload: { code: 'RESYNC_REQUIRED' },
    });
  });

  it('is not there for who has no role in its workspace, and ends for who loses it', async () => {
    const theirs = await aWorkspace(office, []);
    const client = await RawClient.connect(office.url, ann.token);
    cleanUps.push(() => client.cut());
    const [foreign, own] = [await aRun(theirs), await aRun()];
    expect(await client.ask('session.subscribe', { session_id: foreign.sessionId })).toMatchObject({ payload: { code: 'NOT_FOUND' } });
    await client.ask('session.subscribe', { session_id: own.sessionId });
    await office.ask(`DELETE /api/v1/workspaces/${workspace}/members/${ann.id}`, { token: office.adminToken });
    await write(own, [0, 'not for Ann'], [1, ''], [2, '']);
    await client.until(() => client.frames.find(({ payload }) => (payload as { code?: string }).code === 'FORBIDDEN'), 'the end');
    expect(client.notifications).toEqual([]);
    await office.ask(`PUT /api/v1/workspaces/${workspace}/members/${ann.id}`, { token: office.adminToken, body: { role: 'member' } });
  });
});

describe('a session, with the client', () => {
  it('converges on what the table holds, entry by entry, also over a lost connection', async () => {
    const run = await aRun();
    const client = new OfficeClient({ url: office.url, token: ann.token, heartbeatMs: 200 });
    cleanUps.push(() => client.close());
    const known = new Map<number, SessionEntry['payload']>();
    const seqs: number[] = [];
    const following = client.followSession(run.sessionId, {
      after: 0,
      onEvent: ({ seq, payload }) => (seqs.push(seq), known.set(payload.seq, payload)),
      onResync: () => undefined,
    });
    await write(run, [0, 'a'], [1, 'b'], [2, 'c']);
    for (let n = 0; n < 40; n++) {
      await write(run, [n % 3, `${n}`, false]);
      if (n === 20) (client as unknown as { socket: { close(): void } }).socket.close();
    }
    await waitFor(() => following.lastSeq === 43, 10_000, 'the last revision');
    expect(following.state).toBe('live');
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    const { body } = await office.ask(`GET /api/v1/sessions/${run.sessionId}/entries`, { token: ann.token });
    expect([...known.values()].sort((a, b) => a.seq - b.seq)).toEqual((body as { items: unknown[] }).items);
    expect([...known.values()].map(({ body: text }) => text).sort()).toEqual(['37', '38', '39']);
  });
});
