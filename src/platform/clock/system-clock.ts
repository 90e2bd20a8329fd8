import { Injectable } from '@nestjs/common';
import { Clock } from './clock.js';

/** The real clock. The only place of `src/` that reads it. */
@Injectable()
export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }

  override monotonicMs(): number {
    return performance.now();
  }

  override after(ms: number, callback: () => void, keepsAlive = false): { cancel(): void } {
    const timer = setTimeout(callback, ms);
    if (!keepsAlive) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  }
}
