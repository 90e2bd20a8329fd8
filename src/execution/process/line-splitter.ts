const NEWLINE = 0x0a;
const HEAD_BYTES = 1024;

/** A line grew beyond what is kept. `head` is its first KiB. */
export class FrameTooLarge extends Error {
  constructor(readonly head: string) {
    super('frame too large');
    this.name = 'FrameTooLarge';
  }
}

/**
 * Splits bytes into lines on demand, so that its reader may stop between any two. Holds at most one line of `limit` bytes
 * and the chunk it is reading. Every byte is looked at once, however many chunks a line spans.
 */
export class LineSplitter {
  private readonly begun: Buffer[] = [];
  private begunBytes = 0;
  private readonly chunks: Buffer[] = [];

  constructor(private readonly limit: number) {}

  push(chunk: Buffer): void {
    if (chunk.length > 0) this.chunks.push(chunk);
  }

  /** The next whole line without its end, or null when more bytes are needed. Throws `FrameTooLarge`. */
  next(): Buffer | null {
    for (let chunk = this.chunks[0]; chunk !== undefined; chunk = this.chunks[0]) {
      const end = chunk.indexOf(NEWLINE);
      const piece = end < 0 ? chunk : chunk.subarray(0, end);
      if (end < 0 || end + 1 === chunk.length) this.chunks.shift();
      else this.chunks[0] = chunk.subarray(end + 1);
      this.begun.push(piece);
      this.begunBytes += piece.length;
      if (this.begunBytes > this.limit) throw new FrameTooLarge(this.take().toString('utf8', 0, HEAD_BYTES));
      if (end >= 0) return this.take();
    }
    return null;
  }

  /** What stands after the last line end; null when nothing does. */
  rest(): Buffer | null {
    return this.begunBytes > 0 ? this.take() : null;
  }

  private take(): Buffer {
    const line = this.begun.length === 1 ? this.begun[0]! : Buffer.concat(this.begun);
    this.begun.length = 0;
    this.begunBytes = 0;
    return line;
  }
}
