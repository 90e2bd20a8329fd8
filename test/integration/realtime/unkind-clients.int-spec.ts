import { connect as connectTcp, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Connections } from '../../../src/realtime/connections.service.js';
import { Feeds } from '../../../src/realtime/feeds.service.js';
import { aPerson, aWorkspace, type SomePerson } from '../../support/front-desk.js';
import { QuickClock } from '../../support/quick-clock.js';
import { faults } from '../../support/real-server.js';
import { openSocketOffice, RawClient, upTo, type SocketOffice } from '../../support/socket-office.js';

/** For the counts of the issue in full. */
const PATIENCE_MS = faults(10) === 10 ? 300_000 : 45_000;

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

async function connect(options: object = {}): Promise<RawClient> {
  const client = await RawClient.connect(office.url, ann.token, options);
  clients.push(client);
  return client;
}

describe('a frame that makes no sense', () => {
  const deep = `{"type":"request","action":"health.check","payload":${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}}`;
  it.each([
    ['no JSON', 'hello', 'BAD_REQUEST'],
    ['nothing', '', 'BAD_REQUEST'],
    ['cut JSON', '{"type":"request"', 'BAD_REQUEST'],
    ['a list', '[]', 'BAD_REQUEST'],
    ['an object nested 9,000 deep', deep, 'BAD_REQUEST'],
    ['brackets without end', '['.repeat(60_000), 'BAD_REQUEST'],
    ['a prototype', '{"type":"request","action":"health.check","payload":{"__proto__":{"a":1}}}', 'BAD_REQUEST'],
    ['an action nobody knows', '{"id":"x","type":"request","action":"office.destroy","payload":{}}', 'UNKNOWN_ACTION'],
    [
      'an id that is no id',
      '{"id":"x","type":"request","action":"workspace.subscribe","payload":{"workspace_id":"1"}}',
      'VALIDATION_ERROR',
    ],
  ])('is answered with a code: %s', async (_what, text, code) => {
    const client = await connect();
    client.socket.send(text);
    const answer = await client.until(() => client.frames[0], 'an answer');
    expect(answer).toMatchObject({ type: 'error', payload: { code, message: expect.any(String) as string } });
    expect(await client.ask('health.check')).toMatchObject({ type: 'response' });
  });

  it.each([
    ['binary', 1003, (client: RawClient) => client.socket.send(Buffer.from('{}'))],
    ['over 64 KiB', 1009, (client: RawClient) => client.socket.send(`"${'a'.repeat(64 * 1024)}"`)],
    ['no UTF-8', 1007, (client: RawClient) => client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false })],
    ['one of too many', 1008, (client: RawClient) => upTo(300).forEach(() => client.socket.send('{}'))],
    ['a ping of too many', 1008, (client: RawClient) => upTo(300).forEach(() => client.socket.ping())],
  ])('closes the connection with a code: %s', async (_what, code, send) => {
    const client = await connect();
    send(client);
    expect(await client.gone()).toMatchObject({ code });
  });

  it.each([
    ['bytes that are no frames', (wire: Socket) => wire.write(Buffer.alloc(1_000, 0xff))],
    ['a frame that is not masked', (wire: Socket) => wire.write(Buffer.from([0x81, 0x02, 0x7b, 0x7d]))],
    ['half a frame and then nothing', (wire: Socket) => (wire.write(Buffer.from([0x81])), wire.destroy())],
    ['a reset', (wire: Socket) => wire.resetAndDestroy()],
  ])('ends only its own connection: %s', async (_what, send) => {
    const other = await connect();
    const wire = await upgradedByHand();
    const ended = new Promise((resolve) => wire.once('close', resolve));
    wire.on('error', () => undefined);
    wire.resume();
    send(wire);
    await ended;
    expect(await other.ask('health.check')).toMatchObject({ type: 'response' });
  });

  it('takes a hundred subscriptions of one connection, all at once, and no more', async () => {
    const client = await connect();
    const own = await Promise.all(upTo(101).map(() => aWorkspace(office, [[ann, 'member']])));
    const answers = await Promise.all(own.map((id) => client.ask('workspace.subscribe', { workspace_id: id })));
    expect(answers.filter(({ type }) => type === 'response')).toHaveLength(100);
    expect(answers.at(-1)).toMatchObject({ payload: { code: 'BAD_REQUEST' } });
  });

  it.each([
    ['nobody', 'office_nobody'],
    ['somebody', null],
  ])('does no harm when it is gone before it was judged: %s', async (_who, token) => {
    for (const wait of [0, 0, 1, 2, 3, 5, 8, 13]) {
      const wire = knock(token ?? ann.token);
      await new Promise((resolve) => setTimeout(resolve, wait));
      wire.resetAndDestroy();
    }
    const client = await connect();
    expect(await client.ask('health.check')).toMatchObject({ type: 'response' });
  });
});

describe('a client that does not keep up', () => {
  // The kernel takes some megabytes before anything waits with us.
  const bulk = { fields: ['x'.repeat(16 * 1024)] };

  it(
    'is let go within 10 s with 4008 and how far it got, at bounded cost, and the others do not notice',
    async () => {
      const ws = await aWorkspace(office, [[ann, 'member']]);
      const [stuck, late] = [await connect(), await connect()];
      for (const client of [stuck, late]) {
        await client.ask('workspace.subscribe', { workspace_id: ws });
        client.socket.pause();
      }
      const paused = [...office.app.get(Connections)].filter(({ subscriptions }) => subscriptions.has(`workspace:${ws}`));
      const others = await Promise.all(upTo(5).map(() => connect()));
      for (const client of others) await client.ask('workspace.subscribe', { workspace_id: ws, after: 0 });
      const quiet = await aWorkspace(office, [[ann, 'member']]);
      const many = await Promise.all(upTo(faults(1_000)).map(() => connect()));
      for (const client of many) await client.ask('workspace.subscribe', { workspace_id: quiet });
      const delays: number[] = [];
      let most = 0;
      let stuckSince = 0;
      while (paused.some(({ isOpen }) => isOpen)) {
        await office.tell(ws, 20, bulk);
        const last = await office.tell(quiet, 1);
        const told = performance.now();
        await Promise.all(many.map((client) => client.until(() => client.seqs.at(-1) === last, 'the quiet event')));
        delays.push(performance.now() - told);
        most = Math.max(most, ...paused.map(({ socket }) => socket.bufferedAmount));
        if (stuckSince === 0 && paused.some(({ hasRoom }) => !hasRoom)) stuckSince = performance.now();
      }
      late.socket.resume();
      const { code, reason } = await late.gone();
      expect({ code, reason: JSON.parse(reason) as object }).toEqual({
        code: 4008,
        reason: { workspace_id: ws, last_seq: late.seqs.at(-1) },
      });
      expect(late.seqs).toEqual(upTo(late.seqs.length));
      while (paused.some(({ socket }) => socket.readyState !== socket.CLOSED)) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(performance.now() - stuckSince).toBeLessThan(10_000);
      expect(most).toBeLessThan(1024 * 1024);
      // Of a machine that also writes and reads all this.
      expect(Math.max(...delays)).toBeLessThan(2_000);
      expect(many.map(({ seqs }) => seqs)).toEqual(many.map(() => upTo(delays.length)));
      const last = await office.tell(ws, 1);
      for (const client of others) {
        await client.until(() => client.seqs.at(-1) === last, 'the last event', 30_000);
        expect(client.seqs).toEqual(upTo(last));
      }
    },
    PATIENCE_MS,
  );

  it('gets all of a replay that is larger than what may wait for it', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const last = await office.tell(ws, 400, bulk);
    const client = await connect();
    await client.ask('workspace.subscribe', { workspace_id: ws, after: 0 });
    client.socket.pause();
    setTimeout(() => client.socket.resume(), 500);
    await client.until(() => client.seqs.at(-1) === last, 'the last event', 30_000);
    expect(client.seqs).toEqual(upTo(last));
  });
});

describe('a connection that was lost without a word', () => {
  it('is noticed within a minute, and one that answers is kept for longer', async () => {
    const quick = await openSocketOffice({ clock: new QuickClock(20) });
    const [silent, alive] = [await RawClient.connect(quick.url, quick.adminToken), await RawClient.connect(quick.url, quick.adminToken)];
    const pings: number[] = [];
    const since = performance.now();
    alive.socket.on('ping', () => pings.push((performance.now() - since) * 20));
    silent.socket.pause();
    const connections = quick.app.get(Connections);
    while (connections.size > 1) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((performance.now() - since) * 20).toBeLessThanOrEqual(61_000);
    while (pings.length < 4 && alive.closed === null) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(pings[0]).toBeLessThan(30_000);
    expect(await alive.ask('health.check')).toMatchObject({ type: 'response' });
    silent.cut();
    alive.cut();
    await quick.close();
  });
});

describe('many that come and go', () => {
  it(
    'leave nothing behind',
    async () => {
      const cycles = faults(10_000);
      const cycle = async (n: number): Promise<void> => {
        const client = await RawClient.connect(office.url, ann.token);
        if (n % 2 === 0)
          client.socket.send(JSON.stringify({ type: 'request', action: 'workspace.subscribe', payload: { workspace_id: workspace } }));
        if (n % 3 === 0) await client.ask('workspace.subscribe', { workspace_id: workspace });
        if (n % 5 === 0) client.socket.close();
        else client.cut();
        await client.gone();
      };
      const many = async (count: number): Promise<void> => {
        for (let done = 0; done < count; done += 20) await Promise.all(upTo(20).map((n) => cycle(done + n)));
        await settled();
      };
      await many(200);
      const before = measure();
      await many(cycles);
      const after = measure();
      expect(office.app.get(Connections).size).toBe(0);
      expect(office.app.get(Feeds).workspacePositions()).toEqual([]);
      expect(after.handles).toBeLessThanOrEqual(before.handles + 5);
      // What a leak of every connection would hold is tens of kilobytes each.
      expect(after.heap - before.heap).toBeLessThan(Math.max(8 * 1024 * 1024, cycles * 2 * 1024));
    },
    PATIENCE_MS,
  );

  const settled = async (): Promise<void> => {
    while (office.app.get(Connections).size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await office.rows('select 1');
  };
});

function measure(): { heap: number; handles: number } {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  gc();
  const sockets = process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name));
  return { heap: process.memoryUsage().heapUsed, handles: sockets.length };
}

/** Asks for the upgrade by hand. */
function knock(token: string): Socket {
  const { port, hostname } = new URL(office.url);
  const wire = connectTcp(Number(port), hostname).on('error', () => undefined);
  const lines = [
    'GET /ws HTTP/1.1',
    `Host: ${hostname}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==',
    'Sec-WebSocket-Version: 13',
    `Authorization: Bearer ${token}`,
  ];
  wire.write(`${lines.join('\r\n')}\r\n\r\n`);
  return wire;
}

/** A connection that has been upgraded and from here on is in nobody's hands. */
function upgradedByHand(): Promise<Socket> {
  const wire = knock(ann.token);
  return new Promise((resolve, reject) => {
    wire.once('data', (data) => (String(data).startsWith('HTTP/1.1 101') ? resolve(wire) : reject(new Error(String(data)))));
    wire.once('error', reject);
  });
}
