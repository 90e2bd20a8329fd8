/**
 * What time it is in this process. Used for deadlines of things this process holds itself (its agents, its loops).
 * Ages that cross processes (leases, cooldowns, retries) are computed by the database, never from this.
 */
export abstract class Clock {
  abstract now(): Date;
  /** Milliseconds that only move forward; for durations. */
  abstract monotonicMs(): number;
  /** Calls back once after `ms`, unless cancelled. Only with `keepsAlive` does the timer keep the process alive by itself. */
  abstract after(ms: number, callback: () => void, keepsAlive?: boolean): { cancel(): void };
  /** Resolves after `ms`, or at once when `signal` aborts. Keeps the process alive: somebody waits for it in the middle of something. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = this.after(ms, finish, true);
      signal?.addEventListener('abort', finish, { once: true });
    });
  }
}
