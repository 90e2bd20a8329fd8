import { cutBytes, storableText } from '../../platform/text/storable.js';

const KIB = 1024;

/** The longest suffix of at most `bytes` bytes of UTF-8 that splits no character. */
export function lastBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text;
  const encoded = Buffer.from(text, 'utf8');
  if (encoded.length <= bytes) return text;
  let start = encoded.length - bytes;
  while (start < encoded.length && (encoded[start]! & 0xc0) === 0x80) start++;
  return encoded.toString('utf8', start);
}

export interface MiddleCut {
  /** Texts of up to this many bytes stay as they are. */
  readonly whole: number;
  readonly head: number;
  readonly tail: number;
}

/** Contract 7: what is kept of an error payload. */
export const PAYLOAD_CUT: MiddleCut = { whole: 1024 * KIB, head: 512 * KIB, tail: 64 * KIB };
/** What is kept of one line that was no proper answer. */
export const LINE_CUT: MiddleCut = { whole: 64 * KIB, head: 48 * KIB, tail: 8 * KIB };

/**
 * Storable text; beyond `cut.whole` bytes its beginning and end around a marker with the full length. No cut splits a
 * character, and the result never keeps a far larger text alive that it was sliced from.
 */
export function cutMiddle(text: string, cut: MiddleCut): string {
  const storable = storableText(text);
  const bytes = Buffer.byteLength(storable, 'utf8');
  if (bytes <= cut.whole) return Buffer.from(storable, 'utf8').toString('utf8');
  const head = cutBytes(storable, cut.head);
  const tail = lastBytes(storable, cut.tail);
  return `${head}\n[… cut, ${bytes} bytes in all …]\n${tail}`;
}
