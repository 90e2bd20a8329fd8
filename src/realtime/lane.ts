/** Lets so many through at a time, the others in the order they came: what watches must not take the database from what works. */
export class Lane {
  private busy = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly width: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.busy >= this.width) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.busy++;
    try {
      return await work();
    } finally {
      // The place goes over to the next without becoming free in between.
      const next = this.waiting.shift();
      if (next) next();
      else this.busy--;
    }
  }
}
