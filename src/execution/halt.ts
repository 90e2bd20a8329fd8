import type { Clock } from '../platform/clock/clock.js';
import { Deadline } from './deadline.js';
import type { ErrorRecord } from './domain/turn-verdict.js';

/** Why an execution goes no further. */
export class Halt extends Error {
  constructor(
    readonly kind: 'failed' | 'timed_out' | 'stopped',
    /** The error payload; of `stopped` the reason. */
    readonly payload: string,
    /** Texts of the turn that only repeat the error. */
    readonly excused: readonly string[] = [],
    readonly record: ErrorRecord | null = null,
  ) {
    super(kind);
    this.name = 'Halt';
  }
}

export const failed = (payload: string): Halt => new Halt('failed', payload);

/** What an execution waits with: everything it awaits ends at the first halt, by whoever calls it, or at a deadline. */
export class HaltSwitch {
  private first: Halt | null = null;
  private readonly tripped: Promise<never>;
  private reject!: (halt: Halt) => void;
  private readonly deadlines = new Set<Deadline>();

  constructor(private readonly clock: Clock) {
    this.tripped = new Promise((_resolve, reject) => (this.reject = reject));
    this.tripped.catch(() => undefined);
  }

  get halt(): Halt | null {
    return this.first;
  }

  /** False when there has been a halt already. Only the first counts. */
  trip(halt: Halt): boolean {
    if (this.first !== null) return false;
    this.first = halt;
    this.reject(halt);
    return true;
  }

  /** Rejects with the halt if that comes before `work` is done. */
  guard<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.tripped]);
  }

  /** Halts after `ms`, pauses not counted, unless it is called off. */
  deadline(ms: number, onExpiry: () => void): { callOff(): void } {
    const deadline = new Deadline(this.clock, ms, onExpiry);
    this.deadlines.add(deadline);
    const callOff = (): void => {
      deadline.cancel();
      this.deadlines.delete(deadline);
    };
    return { callOff };
  }

  /** While a person is being waited for, no deadline comes nearer. */
  pause(paused: boolean): void {
    for (const deadline of this.deadlines) {
      if (paused) deadline.pause();
      else deadline.resume();
    }
  }
}
