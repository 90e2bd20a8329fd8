import { Clock } from '../../src/platform/clock/clock.js';

/** Time that stands still until a test moves it. Timers fire inside `advance`, in order of their due time. */
export class FakeClock extends Clock {
  private elapsed = 0;
  private readonly timers = new Set<{ due: number; callback: () => void }>();

  constructor(private readonly start = new Date('2026-01-01T00:00:00Z')) {
    super();
  }

  override now(): Date {
    return new Date(this.start.getTime() + this.elapsed);
  }

  override monotonicMs(): number {
    return this.elapsed;
  }

  override after(ms: number, callback: () => void): { cancel(): void } {
    const timer = { due: this.elapsed + Math.max(0, ms), callback };
    this.timers.add(timer);
    return { cancel: () => this.timers.delete(timer) };
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.timers.size;
  }

  /** Moves the time, firing what falls due on the way, also what that sets off. */
  advance(ms: number): void {
    const until = this.elapsed + ms;
    for (;;) {
      const [next] = [...this.timers].filter(({ due }) => due <= until).sort((a, b) => a.due - b.due);
      if (!next) break;
      this.timers.delete(next);
      this.elapsed = Math.max(this.elapsed, next.due);
      next.callback();
    }
    this.elapsed = until;
  }
}
