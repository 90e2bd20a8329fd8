import type { TickBudget } from './tick-budget.js';

/** One tick, as its passes see it: the time they share, and whether this server still leads. */
export class Tick {
  constructor(
    private readonly budget: TickBudget,
    private readonly leads: () => boolean,
  ) {}

  /** What is left waits for the next one. */
  get isOver(): boolean {
    return this.budget.isOver || !this.leads();
  }

  read<T>(work: () => Promise<T>): Promise<T> {
    return this.budget.within(work);
  }
}
