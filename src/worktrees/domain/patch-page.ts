/** Where a page of a patch begins, and of which patch. */
export interface PatchPlace {
  readonly base: string;
  readonly head: string;
  /** Bytes before it. */
  readonly offset: number;
}

const PLACE = /^([0-9a-f]{40,64})-([0-9a-f]{40,64})-(\d{1,10})$/;

export const isPatchPlace = (key: string): boolean => PLACE.test(key);

export const placeKey = ({ base, head, offset }: PatchPlace): string => `${base}-${head}-${offset}`;

export function readPlace(key: string): PatchPlace {
  const [, base, head, offset] = PLACE.exec(key)!;
  return { base: base!, head: head!, offset: Number(offset) };
}

/**
 * How many of the bytes read make a page: up to the last whole line, or, where one line fills the page, to the last whole
 * character. All of them when they are the end.
 */
export function pageLength(bytes: Uint8Array, isEnd: boolean): number {
  if (isEnd) return bytes.length;
  const line = bytes.lastIndexOf(0x0a);
  if (line >= 0) return line + 1;
  let end = bytes.length;
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (size > back) end = bytes.length - back;
    break;
  }
  return end > 0 ? end : bytes.length;
}
