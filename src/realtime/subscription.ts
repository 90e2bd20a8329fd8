import type { Person } from '../access/call.js';
import type { Frame, Topic } from './domain/wire.js';
import type { FeedItem, FeedPage } from './feed-source.js';

/** The client's end, as far as feeds and their endings need it. */
export interface Outlet {
  readonly person: Person;
  readonly subscriptions: Map<string, Subscription>;
  readonly isOpen: boolean;
  readonly hasRoom: boolean;
  room(): Promise<boolean>;
  together(send: () => void): void;
  deliver(frame: Buffer | string): void;
  tell(frame: Omit<Frame, 'timestamp'>): void;
  close(code: number, reason: string): void;
  cut(): void;
}

export const keyOf = ({ kind, id }: Topic): string => `${kind}:${id}`;

/** What subscribers of a feed share of an item's frame: its bytes. */
const encoded = new WeakMap<FeedItem, Buffer>();

/** One client's place in one feed. Everything up to `at` has been handed to its socket, in order; nothing after it has. */
export class Subscription {
  /** `behind`: reads from the table by itself. `live`: is served by the feed. */
  state: 'behind' | 'live' | 'ended' = 'behind';
  /** How long it has kept us waiting since it was last live; null as long as it never was. */
  waitedMs: number | null = null;

  constructor(
    readonly connection: Outlet,
    readonly topic: Topic,
    readonly workspaceId: string,
    /** Of the request; notifications of anything narrower than a workspace carry it. */
    private readonly requestId: string | null,
    public at: number,
  ) {}

  get key(): string {
    return keyOf(this.topic);
  }

  get tokenId(): string {
    return this.connection.person.tokenId;
  }

  /** Hands on what of the page is new, as far as there is room. True when all of it was taken. */
  take(page: FeedPage): boolean {
    const { connection } = this;
    if (page.items.length > 0) {
      connection.together(() => {
        for (const item of page.items) {
          if (item.seq <= this.at) continue;
          if (!connection.isOpen || !connection.hasRoom) return;
          if (this.concerns(item)) connection.deliver(this.frameOf(item));
          this.at = item.seq;
        }
      });
      if (this.at < page.items.at(-1)!.seq) return false;
    }
    this.at = Math.max(this.at, page.upTo);
    return true;
  }

  private concerns(item: FeedItem): boolean {
    return this.topic.kind !== 'task' || item.taskIds.includes(this.topic.id);
  }

  private frameOf(item: FeedItem): Buffer | string {
    if (this.topic.kind !== 'workspace' && this.requestId !== null) return `{"id":${JSON.stringify(this.requestId)},${item.text.slice(1)}`;
    let frame = encoded.get(item);
    if (frame === undefined) encoded.set(item, (frame = Buffer.from(item.text)));
    return frame;
  }
}
