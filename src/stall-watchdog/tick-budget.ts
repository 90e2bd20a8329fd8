import type { Clock } from '../platform/clock/clock.js';

/** The tick's time is over; what is left waits for the next one. */
export class BudgetOver extends Error {
  constructor() {
    super('the budget of the tick is over');
  }
}

/** The time that all passes of a tick share. */
export class TickBudget {
  private readonly end: number;

  constructor(
    private readonly clock: Clock,
    ms: number,
  ) {
    this.end = clock.monotonicMs() + ms;
  }

  get isOver(): boolean {
    return this.clock.monotonicMs() >= this.end;
  }

  /** The answer, unless it takes longer than there is time: then `BudgetOver`. A read that nobody waits for any more ends by its own timeout. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const left = this.end - this.clock.monotonicMs();
    if (left <= 0) throw new BudgetOver();
    const answer = work();
    answer.catch(() => undefined);
    let late: { cancel(): void } | undefined;
    try {
      return await Promise.race([
        answer,
        new Promise<never>((_resolve, reject) => {
          late = this.clock.after(left, () => reject(new BudgetOver()));
        }),
      ]);
    } finally {
      late?.cancel();
    }
  }
}
