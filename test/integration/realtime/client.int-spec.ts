import { createServer, connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { OfficeClient, type FollowingState, type OfficeEvent, type WebSocketClass } from '../../../src/client/office-client.js';
import { aPerson, aWorkspace, type SomePerson } from '../../support/front-desk.js';
import { waitFor } from '../../support/real-server.js';
import { openSocketOffice, upTo, type SocketOffice } from '../../support/socket-office.js';

let office: SocketOffice;
let ann: SomePerson;
beforeAll(async () => {
  office = await openSocketOffice();
  ann = await aPerson(office);
});
afterAll(() => office.close());

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) cleanUp();
});

function aClient(about: Partial<ConstructorParameters<typeof OfficeClient>[0]> = {}): OfficeClient {
  const client = new OfficeClient({ url: office.url, token: ann.token, heartbeatMs: 200, ...about });
  cleanUps.push(() => client.close());
  return client;
}

/** Everything a following is told. */
function ears() {
  const heard = { seqs: [] as number[], states: [] as FollowingState[], resyncs: [] as number[], ends: [] as string[] };
  return {
    heard,
    options: {
      onEvent: ({ seq }: OfficeEvent) => void heard.seqs.push(seq),
      onState: (state: FollowingState) => void heard.states.push(state),
      onResync: ({ lastSeq }: { lastSeq: number }) => void heard.resyncs.push(lastSeq),
      onEnd: ({ code }: { code: string }) => void heard.ends.push(code),
    },
  };
}

/** A line to the office that a test can silence, cut, or let lose something. */
async function aLine() {
  const target = new URL(office.url);
  const wires = new Set<Socket>();
  const line = { silent: false, lose: (_chunk: Buffer): boolean => false };
  const server = createServer((near) => {
    const far = connectTcp(Number(target.port), target.hostname);
    for (const wire of [near, far]) wires.add(wire.on('error', () => undefined));
    near.on('data', (chunk) => line.silent || far.write(chunk)).on('close', () => far.destroy());
    far.on('data', (chunk: Buffer) => line.silent || line.lose(chunk) || near.write(chunk)).on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => (server.close(), wires.forEach((wire) => wire.destroy())));
  return Object.assign(line, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => wires.forEach((wire) => wire.destroy()),
  });
}

const have = (heard: { seqs: number[] }, last: number) => waitFor(() => heard.seqs.at(-1) === last, 10_000, `event ${last}`);

describe('the client', () => {
  it('catches up, says so, and is live', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const last = await office.tell(ws, 10);
    const { heard, options } = ears();
    const following = aClient().followWorkspace(ws, { after: 3, ...options });
    await have(heard, last);
    expect(heard.seqs).toEqual(upTo(last, 4));
    expect(heard.states).toEqual(['catching_up', 'live']);
    following.stop();
    await office.tell(ws, 2);
    expect(heard.seqs).toEqual(upTo(last, 4));
    expect(following.state).toBe('ended');
  });

  it('goes on after its last event however often the line is cut', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const line = await aLine();
    const { heard, options } = ears();
    const client = aClient({ url: line.url });
    client.followWorkspace(ws, options);
    await waitFor(() => heard.states.includes('live'), 10_000, 'being live');
    let last = 0;
    for (let cut = 0; cut < 5; cut++) {
      last = await office.tell(ws, 5);
      line.cut();
    }
    await have(heard, last);
    expect(heard.seqs).toEqual(upTo(last));
    expect(heard.resyncs).toEqual([]);
  });

  it('notices a line that is silent within three heartbeats', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const line = await aLine();
    const { heard, options } = ears();
    const states: string[] = [];
    const client = aClient({ url: line.url, onState: (state) => states.push(state) });
    client.followWorkspace(ws, options);
    await waitFor(() => heard.states.includes('live'), 10_000, 'being live');
    line.silent = true;
    const since = performance.now();
    await waitFor(() => client.state === 'waiting', 10_000, 'the silence to be noticed');
    expect(performance.now() - since).toBeLessThan(1_500);
    const last = await office.tell(ws, 3);
    line.silent = false;
    await have(heard, last);
    expect(heard.seqs).toEqual(upTo(last));
  });

  it.each([
    ['and more come after it', 5],
    ['and none comes after it', 0],
  ])('gets again what was lost on the way, %s', async (_how, more) => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const line = await aLine();
    const { heard, options } = ears();
    aClient({ url: line.url }).followWorkspace(ws, options);
    await waitFor(() => heard.states.includes('live'), 10_000, 'being live');
    let lost = 0;
    line.lose = (chunk) => lost === 0 && chunk.includes('office.task.updated') && !!++lost;
    await office.tell(ws, 1);
    await waitFor(() => lost === 1, 5_000, 'something to be lost');
    const last = await office.tell(ws, more);
    await have(heard, last);
    expect(heard.seqs).toEqual(upTo(last));
  });

  it('is told to begin anew where what it missed is gone, and goes on from there', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const last = await office.tell(ws, 10);
    await office.rows(`delete from office_events where workspace_id = $1 and seq < 8`, [ws]);
    await office.rows(`update office_event_counters set oldest_seq = 8 where workspace_id = $1`, [ws]);
    const { heard, options } = ears();
    aClient().followWorkspace(ws, { after: 2, ...options });
    await waitFor(() => heard.resyncs.length === 1, 10_000, 'the word to begin anew');
    const end = await office.tell(ws, 2);
    await have(heard, end);
    expect(heard).toMatchObject({ resyncs: [last], seqs: upTo(end, last + 1) });
  });

  it('ends what it may not follow any more, and keeps the rest', async () => {
    const [left, kept] = [await aWorkspace(office, [[ann, 'member']]), await aWorkspace(office, [[ann, 'member']])];
    const client = aClient();
    const [a, b, c] = [ears(), ears(), ears()];
    client.followWorkspace(left, a.options);
    client.followWorkspace(kept, b.options);
    client.followTask('01890000-0000-7000-8000-000000000000', c.options);
    await waitFor(() => a.heard.states.includes('live') && b.heard.states.includes('live'), 10_000, 'being live');
    await office.ask(`DELETE /api/v1/workspaces/${left}/members/${ann.id}`, { token: office.adminToken });
    await waitFor(() => a.heard.ends.length === 1, 10_000, 'the end');
    const last = await office.tell(kept, 1);
    await have(b.heard, last);
    expect([a.heard.ends, b.heard.ends, c.heard.ends]).toEqual([['FORBIDDEN'], [], ['NOT_FOUND']]);
  });

  it('gives up with a token that is nobody’s, and takes a new one where it can get one', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    const states: string[] = [];
    aClient({ token: 'office_nobody', onState: (state) => states.push(state) });
    await waitFor(() => states.includes('refused'), 10_000, 'the refusal');
    let asked = 0;
    const { heard, options } = ears();
    aClient({ token: () => (asked++ === 0 ? 'office_nobody' : ann.token) }).followWorkspace(ws, options);
    const last = await office.tell(ws, 1);
    await waitFor(() => heard.states.includes('live'), 10_000, 'being live');
    await office.tell(ws, 1);
    await have(heard, last + 1);
  });

  it('ends with 4001 once its token is revoked', async () => {
    const ben = await aPerson(office, { name: 'Ben' });
    const ws = await aWorkspace(office, [[ben, 'member']]);
    const { heard, options } = ears();
    const client = aClient({ token: ben.token });
    client.followWorkspace(ws, options);
    await waitFor(() => heard.states.includes('live'), 10_000, 'being live');
    await office.rows(`update access_tokens set revoked_at = now() where user_id = $1`, [ben.id]);
    await waitFor(() => client.state === 'refused', 10_000, 'the refusal');
    expect(heard.ends).toEqual(['UNAUTHENTICATED']);
  });

  it('works with the WebSocket of a browser, which has no headers and shows no pings', async () => {
    const ws = await aWorkspace(office, [[ann, 'member']]);
    /** Two arguments and four handlers, as the browser's. */
    class Browser {
      onopen = null;
      onmessage = null;
      onclose = null;
      onerror = null;
      private readonly inner: WebSocket;
      constructor(url: string, protocols: string[]) {
        this.inner = new WebSocket(url, protocols);
        const handlers = ['onopen', 'onmessage', 'onclose', 'onerror'] as const;
        for (const name of handlers) {
          Object.assign(this.inner, { [name]: (event: object) => (this[name] as ((event: object) => void) | null)?.(event) });
        }
      }
      send = (text: string): void => this.inner.send(text);
      close = (code?: number): void => this.inner.close(code);
    }
    const { heard, options } = ears();
    aClient({ webSocket: Browser as unknown as WebSocketClass }).followWorkspace(ws, options);
    await waitFor(() => heard.states.includes('live'), 10_000, 'being live');
    await have(heard, await office.tell(ws, 3));
    expect(heard.seqs).toEqual([1, 2, 3]);
  });
});
