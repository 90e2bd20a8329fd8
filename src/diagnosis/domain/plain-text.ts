/**
 * The one form in which signatures and payloads meet: lower case, white space collapsed, every level of JSON escaping taken
 * off, quotation marks gone (an apostrophe inside a word stays), no space beside punctuation that opens or separates. So
 * `{"type": "error"}`, its encoding as a string within a string, a Python dict, JavaScript's inspect and a text cut in the
 * middle all read alike: `{type:error}`. One pass, one table, no backtracking.
 */
export interface PlainText {
  readonly codes: Uint16Array;
  readonly length: number;
  /** Where words begin with a 4 or a 5: perhaps statuses. The first 64 of them. */
  readonly numbers: readonly number[];
}

const SPACE = 0x20;
const QUOTE = 0x27;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** More than enough for any error; a hostile text of nothing but numbers stays cheap. */
const MOST_NUMBERS = 64;

/** What a UTF-16 unit becomes: itself in lower case, a space, or a quote. */
const FOLD = new Uint16Array(65_536).map((_, code) => code);
for (let code = 0x41; code <= 0x5a; code++) FOLD[code] = code + 0x20;
for (let code = 0; code < 0x20; code++) FOLD[code] = SPACE;
for (const code of [0x7f, 0x85, 0xa0, 0xad, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]) FOLD[code] = SPACE;
for (let code = 0x2000; code <= 0x200f; code++) FOLD[code] = SPACE;
for (const mark of '"\'`‘’‚‛“”„‟´«»') FOLD[mark.charCodeAt(0)] = QUOTE;
for (const dash of '–—―‐‑') FOLD[dash.charCodeAt(0)] = 0x2d;

/** Letters, digits, `_`: what makes a word, and so where a signature may not begin or end inside. */
export const WORD = new Uint8Array(65_536);
for (const mark of '0123456789abcdefghijklmnopqrstuvwxyz_') WORD[mark.charCodeAt(0)] = 1;

/** No space stays behind these, nor behind another. */
const OPENS = new Set(Array.from(' :{[(,=', (mark) => mark.charCodeAt(0)));
const NEEDS_MORE = new Set([QUOTE, COLON, BACKSLASH, 0x34, 0x35]);

/**
 * What a unit becomes, in its lower 16 bits, and three facts of that above them, so that one look-up and no branch serves
 * nearly every unit there is: whether a space behind it goes, whether it is a space, whether there is more to do than to copy it.
 */
const SWALLOWS = 16;
const IS_SPACE = 17;
const SPECIAL = 1 << 18;
const STEP = Int32Array.from(
  FOLD,
  (code) => code | (OPENS.has(code) ? 1 << SWALLOWS : 0) | (code === SPACE ? 1 << IS_SPACE : 0) | (NEEDS_MORE.has(code) ? SPECIAL : 0),
);

/**
 * For all ordinary payloads: fresh memory of this size for each would cost more than the work done in it. Two, because to write where
 * one is about to read costs twice the time.
 */
const DESK_UNITS = 65_536;
const desk = { read: new Uint16Array(DESK_UNITS), written: new Uint16Array(DESK_UNITS) };

/** What it answers holds until it is called again. */
export function plainText(text: string): PlainText {
  const size = text.length;
  const { read, written: codes } = size <= DESK_UNITS ? desk : { read: new Uint16Array(size), written: new Uint16Array(size) };
  // Units in memory are far quicker to walk than a string of whatever representation.
  Buffer.from(read.buffer).write(text, 'utf16le');
  const numbers: number[] = [];
  let length = 0;
  let swallows = 1;
  for (let at = 0; ; at++) {
    // By itself, so that it is compiled to little more than it says.
    let step = 0;
    for (; at < size; at++) {
      step = STEP[read[at]!]!;
      if (step >= SPECIAL) break;
      codes[length] = step;
      length += 1 - ((step >> IS_SPACE) & swallows);
      swallows = (step >> SWALLOWS) & 1;
    }
    if (at >= size) break;
    let code = step & 0xffff;
    if (code === BACKSLASH) {
      at = afterBackslashes(read, at, size);
      if (at >= size) break;
      const escape = read[at]!;
      const value = escape === 0x75 ? hex4(read, at + 1, size) : -1;
      if (value >= 0) at += 4;
      code = value >= 0 ? FOLD[value]! : escape === 0x6e || escape === 0x72 || escape === 0x74 ? SPACE : FOLD[escape]!;
      step = STEP[code]!;
    }
    const last = length === 0 ? SPACE : codes[length - 1]!;
    if (code === QUOTE) {
      if (WORD[last] === 0 || at + 1 >= size || WORD[FOLD[read[at + 1]!]!] === 0) continue;
    } else if (code === COLON) {
      if (last === SPACE && length > 0) length--;
    } else if ((code === 0x34 || code === 0x35) && WORD[last] === 0 && numbers.length < MOST_NUMBERS) numbers.push(length);
    codes[length] = step;
    length += 1 - ((step >> IS_SPACE) & swallows);
    swallows = (step >> SWALLOWS) & 1;
  }
  return { codes, length, numbers };
}

function afterBackslashes(codes: Uint16Array, from: number, size: number): number {
  let at = from;
  while (at < size && codes[at] === BACKSLASH) at++;
  return at;
}

/** Back to a string; for people and for the few places that read numbers out of a bounded part of it. */
export function readable({ codes, length }: Pick<PlainText, 'codes' | 'length'>, from = 0, to = length): string {
  const begin = Math.max(0, from);
  const units = Math.max(0, Math.min(length, to) - begin);
  return Buffer.from(codes.buffer, codes.byteOffset + begin * 2, units * 2).toString('utf16le');
}

function hex4(codes: Uint16Array, at: number, size: number): number {
  if (at + 4 > size) return -1;
  let value = 0;
  for (let i = at; i < at + 4; i++) {
    const code = codes[i]! | 0x20;
    const digit = code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}
