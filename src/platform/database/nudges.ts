import { Injectable, Logger } from '@nestjs/common';
import { EventEmitter } from 'node:events';
import { DataSource } from 'typeorm';
import { Clock } from '../clock/clock.js';
import { newId } from '../ids.js';
import type { Nudge } from './tx.js';

export const NUDGE_CHANNEL = 'office_nudge';
const EVERYTHING = 'everything';
const MAX_PAYLOAD = 7_900;
/** Each is a commit, and wakes every other server: under load what comes within this time goes together. */
const APART_MS = 20;

/**
 * Tells this process at once, and the others through NOTIFY, that a workspace has something new. Sent after the commit
 * (inside one, NOTIFY serialises all commits of the database), many in one statement. A lost nudge costs a poll, no more.
 */
@Injectable()
export class Nudges {
  private readonly logger = new Logger(Nudges.name);
  private readonly local = new EventEmitter().setMaxListeners(100);
  private readonly outbox = new Set<string>();
  private readonly sender = newId();
  private sending = false;
  /**
   * True while no other server shares the database: then nothing is sent, which under load saves a commit in four. Whoever
   * joins says so (`greet`), and is told of everything from then on; what it missed before its polls find.
   */
  alone = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Calls back with the workspace whenever one was nudged, here or elsewhere. */
  on(nudge: Nudge, listener: (workspaceId: string) => void): () => void {
    this.local.on(nudge, listener);
    return () => this.local.off(nudge, listener);
  }

  /** Calls back when nudges of others may have been missed: look everywhere, once. */
  onEverything(listener: () => void): () => void {
    this.local.on(EVERYTHING, listener);
    return () => this.local.off(EVERYTHING, listener);
  }

  everything(): void {
    this.local.emit(EVERYTHING);
  }

  send(workspaceId: string | null, nudges: ReadonlySet<Nudge>): void {
    if (workspaceId === null) return;
    for (const nudge of nudges) {
      this.local.emit(nudge, workspaceId);
      if (!this.alone) this.outbox.add(`${nudge} ${workspaceId}`);
    }
    if (!this.sending && this.outbox.size > 0) void this.drain();
  }

  /** Tells the other servers that this one is there. */
  greet(): void {
    this.outbox.add('hello');
    if (!this.sending) void this.drain();
  }

  /** What arrived over NUDGE_CHANNEL: the sender, then one line per nudge. Our own have been heard already. */
  receive(payload: string): void {
    const [sender, ...lines] = payload.split('\n');
    if (sender === this.sender) return;
    this.alone = false;
    for (const line of lines) {
      const [nudge, workspaceId] = line.split(' ');
      if (nudge && workspaceId) this.local.emit(nudge, workspaceId);
    }
  }

  private async drain(): Promise<void> {
    this.sending = true;
    try {
      while (this.outbox.size > 0) {
        let payload = this.sender;
        for (const line of this.outbox) {
          if (payload.length + line.length >= MAX_PAYLOAD) break;
          payload += `\n${line}`;
          this.outbox.delete(line);
        }
        await this.dataSource.query('select pg_notify($1, $2)', [NUDGE_CHANNEL, payload]);
        await this.clock.sleep(APART_MS);
      }
    } catch (error) {
      // Not worth a line of its own: the poll covers it, and a dead database is already being reported by the loops.
      this.logger.debug({ err: error }, 'nudge not sent');
      this.outbox.clear();
    } finally {
      this.sending = false;
    }
  }
}
