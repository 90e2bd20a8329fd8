import { isUnavailable } from '../platform/database/sqlstate.js';
import type { Tick } from './tick.js';

/** How a pass looks at its candidates. */
export interface Scan<Row, Stall> {
  readonly take: number;
  /** The next candidates, the oldest first; null: they cannot be judged now. */
  readonly list: (after: string | null) => Promise<readonly Row[] | null>;
  readonly judge: (row: Row) => Promise<void>;
  /** It is no stall any more. */
  readonly over: (stall: Stall) => Promise<void>;
  /** One could not be judged; the others are, all the same. */
  readonly failed: (row: Row, error: unknown) => void;
}

/**
 * One look through all candidates of a pass. It may take several ticks, each going on where the last one stopped. What has been
 * surfaced is remembered until a round that saw everything did not meet it any more.
 */
export class ScanRound<Row extends { readonly place: string }, Stall> {
  /** After which candidate the next tick goes on; null: from the oldest. */
  private place: string | null = null;
  private readonly surfaced = new Map<string, Stall>();
  private met = new Set<string>();
  private isWhole = true;

  async go(tick: Tick, { take, list, judge, over, failed }: Scan<Row, Stall>): Promise<void> {
    while (!tick.isOver) {
      const page = await list(this.place);
      if (page === null) return this.spoil();
      for (const row of page) {
        if (tick.isOver) return;
        await judge(row).catch((error: unknown) => {
          // Without a database there is nothing to be said of the others either.
          if (isUnavailable(error)) throw error;
          this.spoil();
          failed(row, error);
        });
        this.place = row.place;
      }
      if (page.length === take) continue;
      for (const [key, stall] of this.finish()) {
        await over(stall);
        this.surfaced.delete(key);
      }
      return;
    }
  }

  /** A stall that is still there, or of which nobody can tell. True: it has been surfaced already. */
  meet(key: string): boolean {
    this.met.add(key);
    return this.surfaced.has(key);
  }

  remember(key: string, stall: Stall): void {
    this.surfaced.set(key, stall);
  }

  /** Another server looks now; what it finds it tells itself. */
  clear(): void {
    this.finish();
    this.surfaced.clear();
  }

  /** What could not be read is not over: this round can say that of nothing. */
  private spoil(): void {
    this.isWhole = false;
  }

  /** The last candidate has been looked at. Answers what is over since. */
  private finish(): [key: string, stall: Stall][] {
    const over = this.isWhole ? [...this.surfaced].filter(([key]) => !this.met.has(key)) : [];
    this.place = null;
    this.met = new Set();
    this.isWhole = true;
    return over;
  }
}
