import type { Clock } from '../platform/clock/clock.js';

/** A span of time that passes only while it is not paused. */
export class Deadline {
  private left: number;
  private since = 0;
  private timer: { cancel(): void } | null = null;
  private over = false;

  constructor(
    private readonly clock: Clock,
    ms: number,
    private readonly expired: () => void,
  ) {
    this.left = ms;
    this.resume();
  }

  pause(): void {
    if (this.timer === null) return;
    this.timer.cancel();
    this.timer = null;
    this.left = Math.max(0, this.left - (this.clock.monotonicMs() - this.since));
  }

  resume(): void {
    if (this.over || this.timer !== null) return;
    this.since = this.clock.monotonicMs();
    this.timer = this.clock.after(this.left, () => {
      this.over = true;
      this.timer = null;
      this.expired();
    });
  }

  cancel(): void {
    this.over = true;
    this.timer?.cancel();
    this.timer = null;
  }
}
