import { Clock } from '../../src/platform/clock/clock.js';

/** Time that passes so many times as fast, for what takes a minute. Timers fire by themselves, unlike those of `FakeClock`. */
export class QuickClock extends Clock {
  constructor(private readonly times: number) {
    super();
  }

  override now(): Date {
    return new Date();
  }

  override monotonicMs(): number {
    return performance.now() * this.times;
  }

  override after(ms: number, callback: () => void, keepsAlive = false): { cancel(): void } {
    const timer = setTimeout(callback, ms / this.times);
    if (!keepsAlive) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  }
}
