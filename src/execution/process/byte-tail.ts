import { storableText } from '../../platform/text/storable.js';
import { lastBytes } from '../domain/cut-text.js';

/** The end of a stream of bytes, in bounded memory. */
export class ByteTail {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly limit: number) {}

  push(chunk: Buffer): void {
    // A copy, lest a few bytes keep a large buffer alive.
    const kept = Buffer.from(chunk.subarray(Math.max(0, chunk.length - this.limit)));
    this.chunks.push(kept);
    this.bytes += kept.length;
    while (this.bytes - this.chunks[0]!.length >= this.limit) this.bytes -= this.chunks.shift()!.length;
    if (this.chunks.length > 256) this.chunks.splice(0, this.chunks.length, Buffer.concat(this.chunks));
  }

  /** Storable text of at most `limit` bytes that begins with a whole character. */
  get text(): string {
    let tail = Buffer.concat(this.chunks);
    if (tail.length > this.limit) {
      let start = tail.length - this.limit;
      while (start < tail.length && (tail[start]! & 0xc0) === 0x80) start++;
      tail = tail.subarray(start);
    }
    return lastBytes(storableText(tail.toString('utf8')), this.limit);
  }
}
