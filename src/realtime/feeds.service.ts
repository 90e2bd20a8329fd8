import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../platform/clock/clock.js';
import { DatabaseOutage } from '../platform/database/database-outage.js';
import { Nudges } from '../platform/database/nudges.js';
import type { Nudge } from '../platform/database/tx.js';
import { Feed, type FeedEnds } from './feed.js';
import type { FeedSource } from './feed-source.js';
import { Lane } from './lane.js';
import type { Subscription } from './subscription.js';

/** How many reads at once: of the pool's connections most belong to those who work. */
const LIVE_READS = 4;
const REPLAY_READS = 3;

/** Which feeds a nudge of a workspace concerns. */
const CONCERNED: Readonly<Partial<Record<Nudge, string>>> = { events: 'workspace:', run_events: 'run:', transcript: 'session:' };

/** The feeds that somebody on this server follows; one per subject, however many follow it. */
@Injectable()
export class Feeds implements OnModuleInit, OnApplicationShutdown {
  private readonly feeds = new Map<string, Feed>();
  private readonly byWorkspace = new Map<string, Set<string>>();
  private readonly live = new Lane(LIVE_READS);
  private readonly replay = new Lane(REPLAY_READS);
  private readonly stopping = new AbortController();
  private readonly deaf: (() => void)[] = [];

  constructor(
    private readonly nudges: Nudges,
    private readonly outage: DatabaseOutage,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    for (const [nudge, prefix] of Object.entries(CONCERNED)) {
      this.deaf.push(this.nudges.on(nudge as Nudge, (workspaceId) => this.nudge(workspaceId, prefix)));
    }
    this.deaf.push(
      this.nudges.onEverything(() => {
        for (const feed of this.feeds.values()) feed.nudge();
      }),
    );
  }

  /** Not before: the last turns end, and are told, while the server drains. The sockets are closed by now. */
  onApplicationShutdown(): void {
    for (const unhear of this.deaf) unhear();
    this.stopping.abort();
  }

  add(feedKey: string, source: () => FeedSource, subscription: Subscription, ends: FeedEnds): void {
    let feed = this.feeds.get(feedKey);
    if (feed === undefined) {
      const { live, replay, clock, outage, stopping } = this;
      feed = new Feed(source(), { live, replay, clock, outage, ends, stopping: stopping.signal });
      this.feeds.set(feedKey, feed);
      const keys = this.byWorkspace.get(feed.source.workspaceId) ?? new Set();
      this.byWorkspace.set(feed.source.workspaceId, keys.add(feedKey));
    }
    feed.add(subscription);
  }

  remove(feedKey: string, subscription: Subscription): void {
    const feed = this.feeds.get(feedKey);
    if (feed === undefined) return;
    feed.remove(subscription);
    if (feed.size > 0) return;
    this.feeds.delete(feedKey);
    const { workspaceId } = feed.source;
    const keys = this.byWorkspace.get(workspaceId);
    keys?.delete(feedKey);
    if (keys?.size === 0) this.byWorkspace.delete(workspaceId);
  }

  /** Up to where each followed workspace has been read, for whoever looks whether there is more. */
  workspacePositions(): { workspaceId: string; position: number }[] {
    return [...this.feeds]
      .filter(([key]) => key.startsWith('workspace:'))
      .map(([, feed]) => ({ workspaceId: feed.source.workspaceId, position: feed.position }));
  }

  nudgeWorkspace(workspaceId: string): void {
    this.nudge(workspaceId, 'workspace:');
  }

  /** Feeds without a counter that one could look at. */
  nudgeOthers(): void {
    for (const [key, feed] of this.feeds) if (!key.startsWith('workspace:')) feed.nudge();
  }

  private nudge(workspaceId: string, prefix: string): void {
    for (const key of this.byWorkspace.get(workspaceId) ?? []) if (key.startsWith(prefix)) this.feeds.get(key)?.nudge();
  }
}
