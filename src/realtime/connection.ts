import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Person } from '../access/call.js';
import type { Clock } from '../platform/clock/clock.js';
import { fullBudget, spend, type InboundBudget, type InboundLimit } from './domain/inbound-budget.js';
import type { Frame, SocketErrorCode } from './domain/wire.js';
import type { Outlet, Subscription } from './subscription.js';

export const CLOSE = {
  unauthenticated: 4001,
  tooSlow: 4008,
  goingAway: 1001,
  unsupportedData: 1003,
  policy: 1008,
  internalError: 1011,
} as const;

/** So much may wait in our memory for one client before its feeds stop and are read from the table at its own pace. */
const FULL_BYTES = 256 * 1024;
/** Nothing makes us hold more than this for a client, whatever it asks for. */
const TOO_MUCH_BYTES = 1024 * 1024;
/** A buffer that does not empty within this is not being read. Its connection is cut soon after: within 10 s of all this. */
const STUCK_MS = 6_000;

/** A client that comes back asks for all it follows at once, a hundred subscriptions and more. */
const LIMIT: InboundLimit = { burst: 250, perSecond: 25 };
/** Requests of one client that wait for the database. */
const MAX_PENDING = LIMIT.burst;
/** A close reason has room for this many bytes (RFC 6455). */
const MAX_REASON = 123;

const AS_TEXT = { binary: false } as const;

/** One client's socket: what it may still receive, what it may still ask, and when it was last heard of. */
export class Connection implements Outlet {
  readonly subscriptions = new Map<string, Subscription>();
  heardAtMs: number;
  pingedAtMs: number;
  private budget: InboundBudget;
  private pending = 0;
  private inbox: Promise<void> = Promise.resolve();
  private draining: Promise<boolean> | null = null;

  constructor(
    readonly socket: WebSocket,
    private readonly wire: Socket,
    readonly person: Person,
    private readonly clock: Clock,
  ) {
    const now = clock.monotonicMs();
    this.heardAtMs = now;
    this.pingedAtMs = now;
    this.budget = fullBudget(LIMIT, now);
    // What a client does wrong, the library answers with a close; there is nothing to do about it here.
    socket.on('error', () => undefined);
  }

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  get hasRoom(): boolean {
    return this.socket.bufferedAmount < FULL_BYTES;
  }

  /** Frames of a feed: the caller asks for room first. */
  deliver(frame: Buffer | string): void {
    this.socket.send(frame, AS_TEXT);
  }

  /** Many frames in one packet. */
  together(send: () => void): void {
    this.wire.cork();
    try {
      send();
    } finally {
      this.wire.uncork();
    }
  }

  /** An answer. Clients that ask without reading the answers are not waited for. */
  tell(frame: Omit<Frame, 'timestamp'>): void {
    if (!this.isOpen) return;
    if (this.socket.bufferedAmount > TOO_MUCH_BYTES) return this.close(CLOSE.tooSlow, 'answers are not read');
    this.socket.send(JSON.stringify({ ...frame, timestamp: this.clock.now().toISOString() }), AS_TEXT);
  }

  refuse(id: string | null, action: string, code: SocketErrorCode, message: string, facts: object = {}): void {
    this.tell({ ...(id !== null && { id }), type: 'error', action, payload: { code, message, ...facts } });
  }

  /** Resolves true once the client has read what was sent, false when it does not, or is gone. */
  room(): Promise<boolean> {
    if (!this.isOpen) return Promise.resolve(false);
    if (this.hasRoom) return Promise.resolve(true);
    return (this.draining ??= this.drained().finally(() => (this.draining = null)));
  }

  /** Takes one more message, or says no. */
  accepts(): boolean {
    const left = spend(this.budget, LIMIT, this.clock.monotonicMs());
    if (left === null || this.pending >= MAX_PENDING) return false;
    this.budget = left;
    return true;
  }

  /** Requests of one client are answered in the order they came. `work` never throws. */
  inTurn(work: () => Promise<void>): void {
    this.pending++;
    this.inbox = this.inbox.then(async () => {
      try {
        if (this.isOpen) await work();
      } finally {
        this.pending--;
      }
    });
  }

  heard(): void {
    this.heardAtMs = this.clock.monotonicMs();
  }

  ping(): void {
    this.pingedAtMs = this.clock.monotonicMs();
    this.socket.ping();
  }

  /** A pong for a ping, unless the client does not read them. */
  pong(data: Buffer): void {
    if (this.isOpen && this.hasRoom) this.socket.pong(data);
  }

  close(code: number, reason: string): void {
    if (this.isOpen) this.socket.close(code, Buffer.from(reason).subarray(0, MAX_REASON));
  }

  /** Without a goodbye, for whoever would not hear it. */
  cut(): void {
    this.socket.terminate();
  }

  private drained(): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (emptied: boolean) => (): void => {
        stuck.cancel();
        this.wire.off('drain', onDrain);
        this.socket.off('close', onClose);
        resolve(emptied && this.isOpen);
      };
      const [onDrain, onClose] = [done(true), done(false)];
      const stuck = this.clock.after(STUCK_MS, onClose);
      this.wire.once('drain', onDrain);
      this.socket.once('close', onClose);
    });
  }
}
