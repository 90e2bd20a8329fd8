import { setImmediate as breath } from 'node:timers/promises';
import type { Clock } from '../platform/clock/clock.js';
import type { DatabaseOutage } from '../platform/database/database-outage.js';
import { isLost, meet } from './domain/stretch.js';
import type { FeedPage, FeedSource } from './feed-source.js';
import type { Lane } from './lane.js';
import type { Subscription } from './subscription.js';

/** Items of one read. Frames are a few hundred bytes mostly, and at most a little more than 4 KiB (contract 11). */
const LIVE_ITEMS = 200;
const REPLAY_ITEMS = 500;
/** For whoever takes a few at a time: what is read and not taken is read again. */
const FEWEST_ITEMS = 20;
/** After so many frames others get a turn on the thread. */
const BREATH_AFTER = 2_000;
/** A client that was live and has kept us waiting this long without catching up does not keep up. */
const TOO_SLOW_MS = 10_000;

/** What a feed tells the desk about a subscription it let go of. It is no longer in the feed then. */
export interface FeedEnds {
  /** Its token, or its person's role, is gone. */
  turnedAway(subscription: Subscription): void;
  /** What it would need next is not kept any more. */
  lost(subscription: Subscription, page: FeedPage): void;
  /** Its client reads too slowly, or (`isStuck`) not at all. */
  tooSlow(subscription: Subscription, isStuck: boolean): void;
  /** A mistake of ours; null when it concerned all. */
  failed(error: unknown, subscription: Subscription | null): void;
}

export interface FeedParts {
  readonly clock: Clock;
  readonly outage: DatabaseOutage;
  readonly live: Lane;
  readonly replay: Lane;
  readonly ends: FeedEnds;
  readonly stopping: AbortSignal;
}

/**
 * One feed of this process: it reads what is new once for all who are live, and lets those who are behind read by
 * themselves until they meet it. The table is the truth; a nudge only says when to look.
 *
 * No gap and no repeat: every subscription holds the position up to which it was served, every read says which stretch it
 * covers, and `meet` compares the two. Whoever cannot be served from a stretch falls behind, and reads from its position.
 */
export class Feed {
  private readonly all = new Set<Subscription>();
  private readonly live = new Set<Subscription>();
  /** Everybody live has everything up to here. */
  private tail = 0;
  private stale = false;
  private following = false;

  constructor(
    readonly source: FeedSource,
    private readonly parts: FeedParts,
  ) {}

  get size(): number {
    return this.all.size;
  }

  /** Up to where it has been read for all. Infinity while nobody is live: there is nothing to read for. */
  get position(): number {
    return this.live.size === 0 ? Infinity : this.tail;
  }

  add(subscription: Subscription): void {
    this.all.add(subscription);
    this.startCatchingUp(subscription);
  }

  remove(subscription: Subscription): void {
    subscription.state = 'ended';
    this.all.delete(subscription);
    this.live.delete(subscription);
  }

  /** Something may be new. */
  nudge(): void {
    this.stale = true;
    if (this.following || this.live.size === 0) return;
    this.following = true;
    // Whoever was not served yet is found behind at the next look, and reads for itself.
    this.follow().catch((error: unknown) => this.parts.ends.failed(error, null));
  }

  private async follow(): Promise<void> {
    try {
      while (this.stale && this.live.size > 0 && !this.parts.stopping.aborted) {
        this.stale = false;
        const asked = new Set([...this.live].map(({ tokenId }) => tokenId));
        const page = await this.read(this.parts.live, this.tail, LIVE_ITEMS, [...asked]);
        if (page === null) this.stale = true;
        else await this.handOut(page, asked);
      }
    } finally {
      // In the same breath as the last look at `stale`, so that no nudge falls between.
      this.following = false;
    }
  }

  private async handOut(page: FeedPage, asked: ReadonlySet<string>): Promise<void> {
    this.tail = page.upTo;
    if (page.more) this.stale = true;
    let frames = 0;
    for (const subscription of Array.from(this.live)) {
      if (subscription.state !== 'live') continue;
      this.serve(subscription, page, asked);
      frames += page.items.length;
      if (frames < BREATH_AFTER) continue;
      frames = 0;
      await breath();
    }
  }

  private serve(subscription: Subscription, page: FeedPage, asked: ReadonlySet<string>): void {
    // It came while we read, so nothing is known of it; unless there is nothing for it anyway, it looks for itself.
    const isKnown = asked.has(subscription.tokenId);
    if (isKnown && !page.admitted.has(subscription.tokenId)) return this.end(subscription, () => this.parts.ends.turnedAway(subscription));
    // Everybody looks for themselves whether it is lost for them, too: some may be further than the feed.
    if (isLost(page.after, page)) return this.fallBehind(subscription);
    const meeting = meet(subscription.at, page);
    if (meeting === 'known') return;
    if (meeting === 'gap' || !isKnown || !subscription.take(page)) this.fallBehind(subscription);
  }

  private fallBehind(subscription: Subscription): void {
    this.live.delete(subscription);
    subscription.state = 'behind';
    this.startCatchingUp(subscription);
  }

  private startCatchingUp(subscription: Subscription): void {
    this.catchUp(subscription).catch((error: unknown) => this.end(subscription, () => this.parts.ends.failed(error, subscription)));
  }

  /** Reads for one alone, page by page, until it meets the others. One call at a time for each. */
  private async catchUp(subscription: Subscription): Promise<void> {
    const { ends } = this.parts;
    let items = REPLAY_ITEMS;
    while (subscription.state === 'behind') {
      if (!(await this.untilRoom(subscription))) return;
      const page = await this.read(this.parts.replay, subscription.at, items, [subscription.tokenId]);
      if (subscription.state !== 'behind' || this.parts.stopping.aborted) return;
      if (page === null) continue;
      if (!page.admitted.has(subscription.tokenId)) return this.end(subscription, () => ends.turnedAway(subscription));
      if (isLost(subscription.at, page)) return this.end(subscription, () => ends.lost(subscription, page));
      const isTaken = subscription.take(page);
      items = isTaken ? Math.min(REPLAY_ITEMS, items * 2) : Math.max(FEWEST_ITEMS, Math.floor(items / 4));
      if (isTaken && !page.more) this.join(subscription);
    }
  }

  private join(subscription: Subscription): void {
    if (this.live.size === 0) this.tail = subscription.at;
    else if (subscription.at < this.tail) return;
    subscription.state = 'live';
    subscription.waitedMs = 0;
    this.live.add(subscription);
    // Whatever was nudged while nobody was live has been heard by nobody.
    this.nudge();
  }

  /** False when the client is gone, or is let go because it does not read. */
  private async untilRoom(subscription: Subscription): Promise<boolean> {
    const { clock, ends } = this.parts;
    const since = clock.monotonicMs();
    const isRead = await subscription.connection.room();
    if (subscription.state !== 'behind') return false;
    if (subscription.waitedMs !== null) subscription.waitedMs += clock.monotonicMs() - since;
    if (isRead && (subscription.waitedMs ?? 0) <= TOO_SLOW_MS) return true;
    this.end(subscription, () => subscription.connection.isOpen && ends.tooSlow(subscription, !isRead));
    return false;
  }

  private end(subscription: Subscription, tell: () => void): void {
    this.remove(subscription);
    tell();
  }

  /** Null when the database did not answer: ask again. */
  private async read(lane: Lane, after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage | null> {
    const { clock, outage, stopping } = this.parts;
    try {
      const page = await lane.run(() => this.source.read(after, limit, tokenIds));
      outage.recovered();
      return page;
    } catch (error) {
      await clock.sleep(outage.failed(error), stopping);
      return null;
    }
  }
}
