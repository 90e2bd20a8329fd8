import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../clock/clock.js';

const DEADLINE_MS = 2_000;

/** Rejects when the thing is not well. `signal` aborts at the deadline; the answer is not waited for after that. */
export type Check = (signal: AbortSignal) => Promise<void>;

export interface ReadinessReport {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failing' | 'slow'>>;
  /** Nothing is wrong, but no work is begun here any more. */
  readonly draining: boolean;
}

interface Registered {
  readonly check: Check;
  /** The call that missed its deadline and is still out. A hung check is not called again: probes must not pile up on it. */
  late: Promise<void> | null;
  wasWell: boolean;
}

/** Whether this server should be sent work. Rooms register what they cannot work without. */
@Injectable()
export class Readiness {
  private readonly logger = new Logger(Readiness.name);
  private readonly registered = new Map<string, Registered>();
  /** Set by whoever begins work. */
  draining = false;

  constructor(private readonly clock: Clock) {}

  register(name: string, check: Check): void {
    if (this.registered.has(name)) throw new Error(`the readiness check ${name} is registered twice`);
    this.registered.set(name, { check, late: null, wasWell: true });
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      [...this.registered].map(async ([name, registered]) => [name, await this.ask(name, registered)] as const),
    );
    return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results), draining: this.draining };
  }

  private async ask(name: string, registered: Registered): Promise<'ok' | 'failing' | 'slow'> {
    if (registered.late) return 'slow';
    const deadline = new AbortController();
    const timer = this.clock.after(DEADLINE_MS, () => deadline.abort());
    const asked = (async () => registered.check(deadline.signal))();
    const answer = asked.then(
      () => null,
      (error: unknown) => ({ error }),
    );
    const slow = new Promise<'slow'>((resolve) => deadline.signal.addEventListener('abort', () => resolve('slow'), { once: true }));
    const first = await Promise.race([answer, slow]);
    timer.cancel();
    if (first === 'slow') {
      registered.late = answer.then(() => void (registered.late = null));
      this.tell(name, registered, false, 'no answer in time');
      return 'slow';
    }
    this.tell(name, registered, first === null, first?.error);
    return first === null ? 'ok' : 'failing';
  }

  /** A line when it changes, not one per probe. */
  private tell(name: string, registered: Registered, isWell: boolean, error: unknown): void {
    if (registered.wasWell === isWell) return;
    registered.wasWell = isWell;
    if (isWell) this.logger.log({ check: name }, 'ready again');
    else this.logger.warn({ check: name, err: error }, 'not ready');
  }
}
