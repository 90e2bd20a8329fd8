import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { FakeClock } from '../../test/support/fake-clock.js';
import { seeded } from '../../test/support/real-server.js';
import type { Person } from '../access/call.js';
import type { DatabaseOutage } from '../platform/database/database-outage.js';
import { Connection } from './connection.js';
import { FeedSource, type FeedPage } from './feed-source.js';
import { Feed } from './feed.js';
import { Lane } from './lane.js';
import { Subscription } from './subscription.js';

/** A table in memory that answers late, and now and then not at all. */
class Table extends FeedSource {
  readonly workspaceId = 'w';
  last = 0;
  oldest = 1;
  fails = 0;
  readonly removed = new Set<string>();
  afterRead: () => void = () => undefined;

  constructor(private readonly random: () => number) {
    super();
  }

  override async read(after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage> {
    await this.delay();
    if (this.fails > 0 && this.fails--) throw Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' });
    const first = Math.max(after + 1, this.oldest);
    const seqs = Array.from({ length: Math.max(0, Math.min(limit, this.last - first + 1)) }, (_, index) => first + index);
    const { oldest, last } = this;
    const admitted = new Set(tokenIds.filter((id) => !this.removed.has(id)));
    this.afterRead();
    await this.delay();
    return {
      items: seqs.map((seq) => ({ seq, text: `{"seq":${seq}}`, taskIds: [] })),
      after,
      upTo: seqs.at(-1) ?? after,
      more: seqs.length === limit,
      oldest,
      last,
      admitted,
    };
  }

  private async delay(): Promise<void> {
    for (let turns = Math.floor(this.random() * 4); turns > 0; turns--) await turn();
  }
}

/** A socket whose reader reads when the test says so. */
class Peer {
  readonly got: number[] = [];
  closed: number | null = null;
  readonly subscription: Subscription;
  private readonly wire = Object.assign(new EventEmitter(), { cork: () => undefined, uncork: () => undefined });
  private readonly socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: (frame: Buffer) => {
      this.got.push((JSON.parse(String(frame)) as { seq: number }).seq);
      if (!this.reads) this.socket.bufferedAmount += 64 * 1024;
    },
    close: (code: number) => {
      this.closed = code;
      this.socket.readyState = 2;
      this.socket.emit('close', code);
    },
  });

  constructor(
    clock: FakeClock,
    name: string,
    readonly from: number,
    public reads = true,
  ) {
    const person = { tokenId: name, userId: name } as Person;
    const connection = new Connection(this.socket as unknown as WebSocket, this.wire as unknown as Socket, person, clock);
    this.subscription = new Subscription(connection, { kind: 'workspace', id: 'w' }, 'w', null, from);
  }

  get isFull(): boolean {
    return this.socket.bufferedAmount > 0;
  }

  read(): void {
    this.socket.bufferedAmount = 0;
    this.wire.emit('drain');
  }
}

function aFeed(seed = 1) {
  const clock = new FakeClock();
  const table = new Table(seeded(seed));
  const ended: [string, string][] = [];
  const end = (why: string) => (subscription: Subscription | null) => void ended.push([subscription!.tokenId, why]);
  const feed = new Feed(table, {
    clock,
    outage: { failed: () => 200, recovered: () => undefined } as unknown as DatabaseOutage,
    live: new Lane(1),
    replay: new Lane(2),
    stopping: new AbortController().signal,
    ends: {
      turnedAway: end('turned away'),
      lost: end('lost'),
      tooSlow: (subscription, isStuck) => void ended.push([subscription.tokenId, isStuck ? 'stuck' : 'too slow']),
      failed: (error) => {
        throw error;
      },
    },
  });
  const append = (events = 1): void => {
    table.last += events;
    feed.nudge();
  };
  const quiet = async (turns = 60): Promise<void> => {
    for (; turns > 0; turns--) await turn();
  };
  return { clock, table, ended, feed, append, quiet };
}

const upTo = (last: number, from = 1): number[] => Array.from({ length: last - from + 1 }, (_, index) => from + index);

describe('a feed', () => {
  it.each(upTo(30))('gives everybody everything once, whoever comes, stalls or goes (%i)', async (seed) => {
    const { clock, table, ended, feed, append, quiet } = aFeed(seed);
    const random = seeded(seed * 7);
    const peers: Peer[] = [];
    for (let step = 0; step < 150; step++) {
      const dice = random();
      if (dice < 0.45) append(1 + Math.floor(random() * 30));
      else if (dice < 0.6) {
        const peer = new Peer(clock, `p${peers.length}`, Math.floor(random() * (table.last + 1)), random() < 0.7);
        peers.push(peer);
        feed.add(peer.subscription);
      } else if (dice < 0.65) {
        const gone = peers.splice(Math.floor(random() * peers.length), 3);
        for (const { subscription } of gone) feed.remove(subscription);
      } else if (dice < 0.75) peers[Math.floor(random() * peers.length)]?.read();
      else if (dice < 0.8) table.fails = 1;
      else clock.advance(random() * 300);
      if (random() < 0.5) await turn();
    }
    for (const peer of peers) peer.reads = true;
    for (let round = 0; round < 40; round++) {
      for (const peer of peers) peer.read();
      clock.advance(500);
      await quiet(20);
    }
    expect(ended).toEqual([]);
    for (const { got, from, subscription } of peers) {
      expect(got).toEqual(upTo(table.last, from + 1));
      expect(subscription.at).toBe(table.last);
      expect(subscription.state).toBe('live');
    }
  });

  it('hears what was committed between its last look and its joining', async () => {
    const { clock, table, feed, append, quiet } = aFeed();
    table.afterRead = () => {
      table.afterRead = () => undefined;
      append();
    };
    const peer = new Peer(clock, 'first', 0);
    feed.add(peer.subscription);
    await quiet();
    expect(peer.got).toEqual([1]);
  });

  it('loses nothing when the last leaves and the first comes while a page is on its way', async () => {
    const { clock, table, feed, append, quiet } = aFeed();
    const last = new Peer(clock, 'last', 0);
    feed.add(last.subscription);
    append(10);
    await quiet();
    const first = new Peer(clock, 'first', 4);
    table.afterRead = () => {
      table.afterRead = () => undefined;
      feed.remove(last.subscription);
      feed.add(first.subscription);
    };
    append(10);
    await quiet();
    expect(first.got).toEqual(upTo(20, 5));
  });

  it('takes a client that does not read for stuck after six seconds, and holds no more for it meanwhile', async () => {
    const { clock, ended, feed, append, quiet } = aFeed();
    const [peer, other] = [new Peer(clock, 'stuck', 0, false), new Peer(clock, 'other', 0)];
    feed.add(peer.subscription);
    feed.add(other.subscription);
    append(100);
    await quiet();
    expect(peer.got).toEqual([1, 2, 3, 4]);
    clock.advance(5_999);
    await quiet();
    expect(ended).toEqual([]);
    clock.advance(1);
    await quiet();
    expect(ended).toEqual([['stuck', 'stuck']]);
    expect(peer.got).toEqual([1, 2, 3, 4]);
    expect(other.got).toEqual(upTo(100));
  });

  it('takes a client for too slow that was live and then keeps it waiting for ten seconds altogether', async () => {
    const { clock, ended, feed, append, quiet } = aFeed();
    const peer = new Peer(clock, 'slow', 0);
    feed.add(peer.subscription);
    await quiet();
    peer.reads = false;
    append(1_000);
    await quiet();
    for (let wait = 0; wait < 3; wait++) {
      clock.advance(3_000);
      peer.read();
      await quiet();
    }
    expect(ended).toEqual([]);
    clock.advance(3_000);
    peer.read();
    await quiet();
    expect(ended).toEqual([['slow', 'too slow']]);
    expect(peer.got).toEqual(upTo(peer.subscription.at));
  });

  it('waits for a slow client that asked for the past as long as it reads', async () => {
    const { clock, ended, feed, table, quiet } = aFeed();
    table.last = 40;
    const peer = new Peer(clock, 'slow', 0, false);
    feed.add(peer.subscription);
    for (let wait = 0; wait < 12; wait++) {
      await quiet();
      clock.advance(5_000);
      peer.read();
    }
    await quiet();
    expect(ended).toEqual([]);
    expect(peer.got).toEqual(upTo(40));
  });

  it('lets go of whoever would need what was pruned, live or behind', async () => {
    const { clock, ended, feed, table, append, quiet } = aFeed();
    const [live, behind] = [new Peer(clock, 'live', 0), new Peer(clock, 'behind', 0, false)];
    feed.add(live.subscription);
    feed.add(behind.subscription);
    append(10);
    await quiet();
    table.last = 100;
    table.oldest = 50;
    feed.nudge();
    behind.read();
    await quiet();
    expect(ended.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ['behind', 'lost'],
      ['live', 'lost'],
    ]);
    expect([live.got, behind.got]).toEqual([upTo(10), upTo(4)]);
  });

  it('never hands a page to whoever was removed before it was read', async () => {
    const { clock, ended, feed, table, append, quiet } = aFeed();
    const [gone, stays] = [new Peer(clock, 'gone', 0), new Peer(clock, 'stays', 0)];
    feed.add(gone.subscription);
    feed.add(stays.subscription);
    append(3);
    await quiet();
    table.removed.add('gone');
    append(3);
    await quiet();
    expect(ended).toEqual([['gone', 'turned away']]);
    expect([gone.got, stays.got]).toEqual([upTo(3), upTo(6)]);
  });
});
