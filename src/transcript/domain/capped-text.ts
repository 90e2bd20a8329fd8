import { cutBytes } from '../../platform/text/storable.js';
import { lastBytes, type MiddleCut } from '../../execution/domain/cut-text.js';

const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8');

const around = (head: string, bytes: number, tail: string): string => `${head}\n[… cut, ${bytes} bytes in all …]\n${tail}`;

/** A text that grows, in bounded memory: whole up to `cut.whole` bytes, then its head and its tail around a marker. */
export class CappedText {
  /** Of everything that was said. */
  bytes = 0;
  private head = '';
  private tail: string | null = null;

  constructor(private readonly cut: MiddleCut) {}

  get isCut(): boolean {
    return this.tail !== null;
  }

  /** `text` is storable. */
  append(text: string): void {
    this.bytes += bytesOf(text);
    if (this.tail !== null) {
      this.tail += text;
      if (this.tail.length > 4 * this.cut.tail) this.tail = lastBytes(this.tail, this.cut.tail);
      return;
    }
    this.head += text;
    if (this.bytes <= this.cut.whole) return;
    this.tail = ownCopy(lastBytes(this.head, this.cut.tail));
    this.head = ownCopy(cutBytes(this.head, this.cut.head));
  }

  /** With `more`, which may still change, at its end. */
  show(more = ''): { readonly body: string; readonly bytes: number; readonly truncated: boolean } {
    const bytes = this.bytes + bytesOf(more);
    if (this.tail !== null) return { body: around(this.head, bytes, lastBytes(this.tail + more, this.cut.tail)), bytes, truncated: true };
    const whole = this.head + more;
    if (bytes <= this.cut.whole) return { body: whole, bytes, truncated: false };
    return { body: around(cutBytes(whole, this.cut.head), bytes, lastBytes(whole, this.cut.tail)), bytes, truncated: true };
  }
}

/** A slice keeps the whole text alive that it came from. */
const ownCopy = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');
