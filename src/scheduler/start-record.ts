/**
 * That a conversation has begun is written down as soon as it has, unless its turn is over in the same breath: then the
 * settlement writes it with the rest and saves a commit.
 */
export class StartRecord {
  private writing: Promise<void> | null = null;
  private readonly soon: NodeJS.Immediate;

  constructor(
    private readonly acpSessionId: string,
    write: () => Promise<void>,
  ) {
    this.soon = setImmediate(() => {
      this.writing = write();
      // Whoever waits for it hears of a failure; until then nobody does.
      this.writing.catch(() => undefined);
    });
  }

  /** Resolves to the ACP session id that is still to be recorded, or to undefined once it has been. */
  async orLeaveIt(): Promise<string | undefined> {
    clearImmediate(this.soon);
    if (this.writing === null) return this.acpSessionId;
    // What could not be written by itself goes with the end: the turn's result must not be lost over it.
    return this.writing.then(
      () => undefined,
      () => this.acpSessionId,
    );
  }
}
