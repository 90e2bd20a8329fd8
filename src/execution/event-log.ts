import type { ExecutionEvent } from './agent-runtime.js';

/** One told event, linked to the next, so that what nobody has still to read is simply no longer referred to. */
interface Link {
  readonly event: ExecutionEvent | null;
  readonly bytes: number;
  next: Link | null;
}

interface Place {
  /** The last link that was read. */
  link: Link;
  /** Bytes told after it. */
  unread: number;
}

interface Reader extends Place {
  wake: (() => void) | null;
}

/** What an event costs beside its text. */
const OVERHEAD_BYTES = 256;

/**
 * What one execution tells, in order, kept until every reader has been given it. The first reader begins at the
 * beginning; a later one with what the slowest has still to read, or where the last one left.
 */
export class EventLog {
  private last: Link = { event: null, bytes: 0, next: null };
  private left: Place | null = { link: this.last, unread: 0 };
  private readonly readers = new Set<Reader>();
  private begun = false;
  private closed = false;

  /** `changed` is called whenever something was read, a reader left, or the end was told. */
  constructor(private readonly changed: () => void) {}

  /** Bytes that the slowest reader has not been given yet. */
  get unread(): number {
    return this.slowest().unread;
  }

  /** Everything was told, and whoever read it has read what he wanted. */
  get spent(): boolean {
    return this.closed && this.begun && this.readers.size === 0;
  }

  append(event: ExecutionEvent, bytes: number): void {
    const link: Link = { event, bytes: bytes + OVERHEAD_BYTES, next: null };
    this.last.next = link;
    this.last = link;
    for (const place of this.places()) place.unread += link.bytes;
    this.wakeAll();
  }

  close(): void {
    this.closed = true;
    this.wakeAll();
    this.changed();
  }

  /** Reading begins now, not with the first `next()`. */
  subscribe(): AsyncIterableIterator<ExecutionEvent> {
    const reader: Reader = { ...this.slowest(), wake: null };
    this.left = null;
    this.begun = true;
    this.readers.add(reader);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: async () => {
        while (this.readers.has(reader)) {
          const link = reader.link.next;
          if (link !== null) {
            reader.link = link;
            reader.unread -= link.bytes;
            this.changed();
            return { done: false, value: link.event! };
          }
          if (this.closed) this.leave(reader);
          else await new Promise<void>((resolve) => (reader.wake = resolve));
        }
        return { done: true, value: undefined };
      },
      return: async () => {
        this.leave(reader);
        return { done: true, value: undefined };
      },
    };
  }

  private leave(reader: Reader): void {
    if (!this.readers.delete(reader)) return;
    if (this.readers.size === 0) this.left = { link: reader.link, unread: reader.unread };
    reader.wake?.();
    this.changed();
  }

  private places(): Place[] {
    return this.left === null ? [...this.readers] : [this.left];
  }

  private slowest(): Place {
    return this.places().reduce((slow, place) => (place.unread > slow.unread ? place : slow));
  }

  private wakeAll(): void {
    for (const reader of this.readers) {
      reader.wake?.();
      reader.wake = null;
    }
  }
}
