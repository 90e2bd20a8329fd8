import type { SocketErrorCode, Topic } from '../realtime/domain/wire.js';

/** One event, or entry, of what is followed. */
export interface FollowedItem {
  readonly seq: number;
  readonly action: string;
  readonly payload: unknown;
  readonly timestamp: string;
  readonly workspaceId: string;
}

/** `catching_up`: what happened before is still on its way. `live`: everything is here. */
export type FollowingState = 'connecting' | 'catching_up' | 'live' | 'ended';

export interface FollowOptions<Item> {
  /** The last one you have; what follows it comes. Unset: from now on. */
  readonly after?: number;
  /** In order, each once. */
  readonly onEvent: (item: Item) => void;
  /**
   * What followed your last one is not kept any more. Load everything anew now: it includes whatever happened up to
   * `lastSeq`, and `onEvent` goes on from there.
   */
  readonly onResync: (from: { readonly lastSeq: number }) => void;
  readonly onState?: (state: FollowingState) => void;
  /** For good: no such thing, no role any more, or nobody any more. */
  readonly onEnd?: (why: { readonly code: SocketErrorCode | 'UNAUTHENTICATED'; readonly message: string }) => void;
}

/** What the connection does for its followings. */
export interface Line {
  /** Null when there is no connection: it asks by itself once there is. */
  ask(following: Following): string | null;
  forget(following: Following): void;
}

/** Something one follows: knows how far it has got and asks for what comes next, over whatever connection there is. */
export class Following {
  readonly key: string;
  /** The last one that was handed on; null until the server has said from where. */
  lastSeq: number | null;
  private current: FollowingState = 'connecting';
  /** Of the subscription that is being asked for, or that serves us. */
  private requestId: string | null = null;
  private accepted = false;
  private resyncing = false;
  private liveAt = 0;

  constructor(
    readonly topic: Topic,
    private readonly options: FollowOptions<FollowedItem>,
    private readonly line: Line,
  ) {
    this.key = `${topic.kind}:${topic.id}`;
    this.lastSeq = options.after ?? null;
  }

  get state(): FollowingState {
    return this.current;
  }

  /** No more events from here on. */
  stop(): void {
    if (this.current === 'ended') return;
    this.line.forget(this);
    this.become('ended');
  }

  /** There is a connection: ask for what follows. */
  ask(): void {
    this.accepted = false;
    this.requestId = this.line.ask(this);
    this.become('connecting');
  }

  disconnected(): void {
    this.accepted = false;
    this.requestId = null;
    if (this.current !== 'ended') this.become('connecting');
  }

  get after(): number | null {
    return this.resyncing ? null : this.lastSeq;
  }

  isServedBy(requestId: string): boolean {
    return this.requestId === requestId;
  }

  accept(lastSeq: number): void {
    if (this.current === 'ended') return;
    this.accepted = true;
    this.liveAt = lastSeq;
    this.lastSeq = this.after ?? lastSeq;
    if (this.resyncing) {
      this.resyncing = false;
      this.options.onResync({ lastSeq });
    }
    this.become(this.lastSeq >= lastSeq ? 'live' : 'catching_up');
  }

  take(item: FollowedItem): void {
    // Of a subscription that was given up: the one we asked for instead sends it again.
    if (!this.accepted || this.lastSeq === null || item.seq <= this.lastSeq) return;
    if (this.isGapless && item.seq !== this.lastSeq + 1) return this.ask();
    this.lastSeq = item.seq;
    this.options.onEvent(item);
    if (this.current === 'catching_up' && this.lastSeq >= this.liveAt) this.become('live');
  }

  /** The server has sent everything up to there. */
  served(position: number): void {
    if (!this.accepted || this.lastSeq === null) return;
    if (this.isGapless && position > this.lastSeq) return this.ask();
    this.lastSeq = Math.max(this.lastSeq, position);
    if (this.current === 'catching_up' && this.lastSeq >= this.liveAt) this.become('live');
  }

  /** True when it goes on after a while: ask again then. */
  refused(code: SocketErrorCode | 'UNAUTHENTICATED', message: string): boolean {
    this.accepted = false;
    this.requestId = null;
    if (code === 'INTERNAL_ERROR') return true;
    if (code === 'RESYNC_REQUIRED') {
      this.resyncing = true;
      this.ask();
      return false;
    }
    if (this.current === 'ended') return false;
    this.line.forget(this);
    this.become('ended');
    this.options.onEnd?.({ code, message });
    return false;
  }

  /** Of a task one gets some of the workspace's events, of a transcript only the newest form of each entry. */
  private get isGapless(): boolean {
    return this.topic.kind === 'workspace' || this.topic.kind === 'run';
  }

  private become(state: FollowingState): void {
    if (state === this.current) return;
    this.current = state;
    this.options.onState?.(state);
  }
}
