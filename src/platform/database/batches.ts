interface Asked<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * What is asked for while one piece of work is under way is done together in the next: under load many share a commit,
 * without load each has its own at once.
 */
export class Batches<Item, Answer> {
  private waiting: Asked<Item, Answer>[] = [];
  private working = false;

  constructor(
    /** Answers in the order of the items. When it fails for several, each is tried by itself. */
    private readonly work: (items: readonly Item[]) => Promise<readonly Answer[]>,
    private readonly limit: number,
    /** Items of one batch have different keys; those with the same wait for the next. */
    private readonly keyOf: (item: Item) => string,
    /** Called when nothing is left to do. */
    private readonly onIdle: () => void = () => undefined,
  ) {}

  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.working) void this.go();
    });
  }

  private async go(): Promise<void> {
    this.working = true;
    while (this.waiting.length > 0) {
      // A turn of the event loop, so that what is asked for in the same breath goes together.
      await new Promise(setImmediate);
      await this.doTogether(this.take());
    }
    this.working = false;
    this.onIdle();
  }

  private take(): Asked<Item, Answer>[] {
    const taken: Asked<Item, Answer>[] = [];
    const keys = new Set<string>();
    this.waiting = this.waiting.filter((asked) => {
      const key = this.keyOf(asked.item);
      if (taken.length >= this.limit || keys.has(key)) return true;
      keys.add(key);
      taken.push(asked);
      return false;
    });
    return taken;
  }

  private async doTogether(batch: readonly Asked<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.work(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(answers[index]!));
    } catch (error) {
      if (batch.length === 1) batch[0]!.reject(error);
      else for (const asked of batch) await this.doTogether([asked]);
    }
  }
}
