import { plainText, readable, WORD, type PlainText } from './plain-text.js';

/** Which of the phrases a text contains, and where each was last seen to end. */
export interface Found {
  /** In no order, each once. */
  readonly phrases: readonly number[];
  hasOne(phrases: readonly number[]): boolean;
  /** The first of these that occurs. */
  firstOf(phrases: readonly number[]): number | undefined;
  /** The index after the last occurrence; -1 for a phrase that does not occur. */
  endOf(phrase: number): number;
}

interface Phrase {
  readonly codes: readonly number[];
  /** Must not begin, or end, inside a word. `*` at that end of the phrase lifts it. */
  readonly left: boolean;
  readonly right: boolean;
  /** Has letters that share a column with others, and so must be compared with what was found. */
  readonly blurred: boolean;
}

/**
 * Finds any number of phrases in one walk over a text (Aho and Corasick), so that the time depends on the text's length
 * alone: not on how many signatures there are, nor on what the text is made of.
 */
export class PhraseFinder {
  private readonly ids = new Map<string, number>();
  private readonly phrases: Phrase[] = [];
  private built: Machine | null = null;
  private readonly desk: { ends: Int32Array; readonly present: number[] } = { ends: new Int32Array(0), present: [] };

  /** The number of a phrase. `*` at an end: the word may go on there. */
  add(pattern: string): number {
    const known = this.ids.get(pattern);
    if (known !== undefined) return known;
    if (this.built !== null) throw new Error('a phrase came after the first search');
    const left = !pattern.startsWith('*');
    const right = !pattern.endsWith('*');
    const plain = plainText(pattern.slice(left ? 0 : 1, right ? undefined : -1));
    if (plain.length === 0) throw new Error('an empty phrase is everywhere');
    const codes = [...plain.codes.subarray(0, plain.length)];
    const id =
      this.phrases.push({
        codes,
        left: left && WORD[codes[0]!] === 1,
        right: right && WORD[codes.at(-1)!] === 1,
        blurred: codes.some((code) => code >= 0x80),
      }) - 1;
    this.ids.set(pattern, id);
    return id;
  }

  /** How many phrases there are; their numbers are below it. */
  get size(): number {
    return this.phrases.length;
  }

  nameOf(id: number): string {
    const { codes } = this.phrases[id]!;
    return readable({ codes: Uint16Array.from(codes), length: codes.length });
  }

  /** What it answers holds until it is called again. */
  search(text: PlainText): Found {
    if (this.built === null) {
      this.built = build(this.phrases);
      this.desk.ends = new Int32Array(this.phrases.length).fill(-1);
    }
    const { ends, present } = this.desk;
    for (const id of present) ends[id] = -1;
    present.length = 0;
    const { columns, next, quiet } = this.built;
    const { codes, length } = text;
    let state = BETWEEN_WORDS;
    for (let at = 0; at < length; at++) {
      state = next[(state << SHIFT) | columns[codes[at]!]!]!;
      if (state >= quiet) this.note(state, text, at);
    }
    return new Occurrences(present, ends);
  }

  /** What ends at `at`. Seldom called, and apart from the walk so that it is compiled to little more than it says. */
  private note(state: number, { codes, length }: PlainText, at: number): void {
    const { output, twin, link, rights, blurred } = this.built!;
    const { ends, present } = this.desk;
    for (let node = state; node !== BETWEEN_WORDS; node = link[node]!) {
      for (let id = output[node]!; id !== -1; id = twin[id]!) {
        if (rights[id] === 1 && at + 1 < length && WORD[codes[at + 1]!] === 1) continue;
        if (blurred[id] === 1 && !endsWith(codes, at, this.phrases[id]!.codes)) continue;
        if (ends[id] === -1) present.push(id);
        ends[id] = at + 1;
      }
    }
  }
}

function endsWith(codes: Uint16Array, at: number, phrase: readonly number[]): boolean {
  const from = at + 1 - phrase.length;
  return phrase.every((code, place) => codes[from + place] === code);
}

/**
 * The states in which no phrase has begun. Nearly all phrases begin where a word does, so in the middle of any other word the walk
 * stays in the one row of INSIDE_WORD, which the processor then has at hand.
 */
const BETWEEN_WORDS = 0;
const INSIDE_WORD = 1;

/**
 * How long a row of `next` is: two lines of the processor's cache. Finding one's place in it is the dearest step of the walk. So what
 * is not ASCII shares the columns that ASCII leaves.
 */
const SHIFT = 6;
const COLUMNS = 1 << SHIFT;

class Occurrences implements Found {
  constructor(
    readonly phrases: readonly number[],
    private readonly ends: Int32Array,
  ) {}

  hasOne(phrases: readonly number[]): boolean {
    return this.firstOf(phrases) !== undefined;
  }

  firstOf(phrases: readonly number[]): number | undefined {
    for (const phrase of phrases) if (this.ends[phrase]! >= 0) return phrase;
    return undefined;
  }

  endOf(phrase: number): number {
    return this.ends[phrase]!;
  }
}

interface Machine {
  /** Which column of `next` a code stands in; 0 for all that occur in no phrase. */
  readonly columns: Uint8Array;
  readonly next: Uint16Array;
  /** In no state below this one does a phrase end: one comparison for nearly every letter there is. */
  readonly quiet: number;
  /** The phrase that ends in this state, or -1. */
  readonly output: Int16Array;
  /** The next phrase of the same letters, which differs in where it may begin or end; or -1. */
  readonly twin: Int16Array;
  /** 1: the letter behind the phrase must not belong to the word it ends with. */
  readonly rights: Uint8Array;
  /** 1: letters of the phrase share their column with others. */
  readonly blurred: Uint8Array;
  /** The longest proper suffix of this state in which a phrase ends; BETWEEN_WORDS for none. */
  readonly link: Uint16Array;
}

function build(phrases: readonly Phrase[]): Machine {
  const columns = columnsFor(phrases);
  const most = phrases.reduce((sum, { codes, left }) => sum + codes.length * (left ? 1 : 2), 2);
  if (most > 65_535) throw new Error('too many signatures for this machine');
  const next = new Uint16Array(most << SHIFT);
  const output = new Int16Array(most).fill(-1);
  const twin = new Int16Array(phrases.length).fill(-1);
  let states = 2;
  const grow = (from: number, id: number): void => {
    let state = from;
    for (const code of phrases[id]!.codes) {
      const place = (state << SHIFT) | columns[code]!;
      if (next[place] === 0) next[place] = states++;
      state = next[place]!;
    }
    twin[id] = output[state]!;
    output[state] = id;
  };
  const ids = [...phrases.keys()];
  // Those that may begin anywhere first: so they are the last of every chain of twins, whichever of their two ends it hangs from.
  for (const root of [INSIDE_WORD, BETWEEN_WORDS]) for (const id of ids) if (!phrases[id]!.left) grow(root, id);
  for (const id of ids) if (phrases[id]!.left) grow(BETWEEN_WORDS, id);
  const link = complete(next, output, states, columns);
  const rights = Uint8Array.from(phrases, ({ right: bound }) => (bound ? 1 : 0));
  const blurred = Uint8Array.from(phrases, (phrase) => (phrase.blurred ? 1 : 0));
  return { columns, twin, rights, blurred, ...quietFirst({ next, output, link, states }) };
}

function columnsFor(phrases: readonly Phrase[]): Uint8Array {
  const columns = new Uint8Array(65_536);
  let width = 1;
  const give = (code: number): void => {
    if (columns[code] === 0) columns[code] = width++;
  };
  // Column 0 stands between words.
  WORD.forEach((isWord, code) => isWord === 1 && give(code));
  for (const { codes } of phrases) for (const code of codes) if (code < 0x80) give(code);
  const own = width;
  const shared = COLUMNS - own;
  if (shared < 1) throw new Error('too many letters for this machine');
  for (const { codes } of phrases) for (const code of codes) if (code >= 0x80) columns[code] = own + (code % shared);
  return columns;
}

/** Numbers the states anew, those in which some phrase ends last. BETWEEN_WORDS stays what it is. */
function quietFirst({ next, output, link, states }: Pick<Machine, 'next' | 'output' | 'link'> & { readonly states: number }) {
  const old = Array.from({ length: states }, (_, state) => state);
  const loud = (state: number): boolean => output[state] !== -1 || link[state] !== BETWEEN_WORDS;
  const order = [...old.filter((state) => !loud(state)), ...old.filter(loud)];
  const renamed = new Uint16Array(states);
  order.forEach((state, place) => (renamed[state] = place));
  const moved = new Uint16Array(states << SHIFT);
  for (const [place, state] of order.entries())
    for (let column = 0; column < COLUMNS; column++) moved[(place << SHIFT) | column] = renamed[next[(state << SHIFT) | column]!]!;
  return {
    next: moved,
    output: Int16Array.from(order, (state) => output[state]!),
    link: Uint16Array.from(order, (state) => renamed[link[state]!]!),
    quiet: order.findIndex(loud),
  };
}

/** Fills the gaps of the trie breadth first: where a phrase breaks off, the walk goes on in the longest suffix that is one's beginning. */
function complete(next: Uint16Array, output: Int16Array, states: number, columns: Uint8Array): Uint16Array {
  const fail = new Uint16Array(states);
  const link = new Uint16Array(states);
  const queue: number[] = [];
  const after = new Uint8Array(COLUMNS).fill(BETWEEN_WORDS);
  WORD.forEach((isWord, code) => isWord === 1 && (after[columns[code]!] = INSIDE_WORD));
  const connect = (place: number, beyond: number): void => {
    const state = next[place]!;
    if (state === 0) next[place] = beyond;
    else {
      fail[state] = beyond;
      queue.push(state);
    }
  };
  for (const root of [BETWEEN_WORDS, INSIDE_WORD])
    for (let column = 0; column < COLUMNS; column++) connect((root << SHIFT) | column, after[column]!);
  for (const state of queue) {
    const back = fail[state]!;
    link[state] = output[back] === -1 ? link[back]! : back;
    for (let column = 0; column < COLUMNS; column++) connect((state << SHIFT) | column, next[(back << SHIFT) | column]!);
  }
  return link;
}
