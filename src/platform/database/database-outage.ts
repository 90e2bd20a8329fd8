import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { isUnavailable } from './sqlstate.js';

const SHORTEST_MS = 200;
const LONGEST_MS = 5_000;
/** After the database came back, stragglers still find dead connections; that is no news for so long. */
const CALM_MS = 30_000;
/** Failures that are no outage are bugs: each is worth a line, a flood of them is not. */
const TELL_PER_MINUTE = 10;

/**
 * What every loop that lives on the database shares: one line when it goes away, one when it is back, however many loops
 * notice, and how long to leave it alone after a failure.
 */
@Injectable()
export class DatabaseOutage {
  private readonly logger = new Logger(DatabaseOutage.name);
  private since: number | null = null;
  private announced = false;
  private failures = 0;
  private backAt = -Infinity;
  private minute = { since: -Infinity, errors: 0 };
  private counted = 0;

  constructor(private readonly clock: Clock) {}

  /** How many outages this process has seen. */
  get count(): number {
    return this.counted;
  }

  /** Call it with what made a turn of a loop fail, whatever that is. Returns the milliseconds to wait before the next. */
  failed(error: unknown): number {
    return jittered(isUnavailable(error) ? this.away(error) : this.broken(error));
  }

  /** Call it after every turn that reached the database. */
  recovered(): void {
    if (this.since === null) return;
    const now = this.clock.monotonicMs();
    if (this.announced) {
      this.backAt = now;
      this.logger.log({ away_ms: Math.round(now - this.since), failures: this.failures }, 'database is back');
    }
    this.since = null;
    this.announced = false;
  }

  private away(error: unknown): number {
    const now = this.clock.monotonicMs();
    if (this.since === null) {
      this.since = now;
      this.failures = 0;
    }
    this.failures++;
    if (!this.announced && now - this.backAt > CALM_MS) {
      this.announced = true;
      this.counted++;
      this.logger.warn({ err: error }, 'database is away');
    }
    // Half of what it has lasted so far: grows by itself, for all loops alike.
    return (now - this.since) / 2;
  }

  private broken(error: unknown): number {
    const now = this.clock.monotonicMs();
    if (now - this.minute.since > 60_000) this.minute = { since: now, errors: 0 };
    this.minute.errors++;
    if (this.minute.errors <= TELL_PER_MINUTE) {
      const last = this.minute.errors === TELL_PER_MINUTE ? { silent_for_ms: Math.round(this.minute.since + 60_000 - now) } : {};
      this.logger.error({ err: error, ...last }, 'loop failed');
    }
    return SHORTEST_MS * 2 ** Math.min(this.minute.errors, 10);
  }
}

const jittered = (ms: number): number => Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms)) * (0.75 + Math.random() / 2);
