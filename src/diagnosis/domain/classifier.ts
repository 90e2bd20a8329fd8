import { CATALOGUES, familyOf, LASTING } from './catalogue/catalogue.js';
import { ERROR_CODES, isTransientCode, mayRetry, type ErrorClass, type ErrorCode } from './codes.js';
import { statusesIn } from './http-status.js';
import { ownPayload, type OwnPayload } from './own-payload.js';
import { PhraseFinder, type Found } from './phrase-finder.js';
import { plainText, readable, type PlainText } from './plain-text.js';
import { resetMs, type Reset } from './reset-time.js';
import { ResetReader } from './resets.js';
import { rankOf, type Confidence, type Family, type Signature } from './signature.js';

/** Longer waits are no hiccup: whoever names one names a quota. */
const NEAR_SECONDS = 120;

export interface Diagnosis {
  readonly class: ErrorClass;
  readonly code: ErrorCode;
  /** Transient, auto-retryable and fallback-allowed. */
  readonly retryable: boolean;
  readonly confidence: Confidence;
  /** The row that decided. */
  readonly rule: string;
  /** When a limit ends, if that was told in a form that can be trusted. */
  readonly retryAfter: Reset | null;
  /** Every row that matched, the deciding one first, and why it came out so. */
  readonly matched: readonly string[];
  readonly why: string;
}

interface Compiled {
  readonly signature: Signature;
  readonly family: Family | 'neutral';
  readonly rank: number;
  readonly transient: boolean;
  /** The evidence without which it cannot hold. */
  readonly needs: number;
  readonly any: readonly number[];
  readonly all: readonly (readonly number[])[];
  readonly none: readonly number[];
  readonly status: readonly number[];
}

interface Reading {
  readonly text: PlainText;
  readonly found: Found;
  readonly statuses: ReadonlySet<number>;
  readonly reset: Reset | null;
  /** Of the reset: null when none was told. */
  readonly near: boolean | null;
}

/** What speaks for a row: one of its `any` phrases (of `all` where it has no other), or one of its statuses. */
const PHRASE = 1;
const STATUS = 2;

const finder = new PhraseFinder();
const rows: readonly Compiled[] = Object.entries(CATALOGUES).flatMap(([family, signatures]) =>
  signatures.map((signature) => compile(signature, family as Family | 'neutral')),
);
const lasting = LASTING.map((word) => finder.add(word));
const resets = new ResetReader(finder);

const rowsOfPhrase: readonly (readonly number[])[] = indexed(finder.size, ({ any, all }) => (any.length > 0 ? any : all.flat()));
const rowsOfStatus: ReadonlyMap<number, readonly number[]> = new Map(
  [...new Set(rows.flatMap(({ status }) => status))].map((status) => [
    status,
    rows.flatMap((row, place) => (row.status.includes(status) ? [place] : [])),
  ]),
);

function indexed(size: number, keys: (row: Compiled) => readonly number[]): number[][] {
  const index: number[][] = Array.from({ length: size }, () => []);
  rows.forEach((row, place) => {
    for (const key of new Set(keys(row))) index[key]!.push(place);
  });
  return index;
}

function compile(signature: Signature, family: Family | 'neutral'): Compiled {
  const { any = [], all = [], none = [], status = [] } = signature.when;
  return {
    signature,
    family,
    rank: rankOf(signature.confidence),
    transient: isTransientCode(signature.code),
    any: any.map((phrase) => finder.add(phrase)),
    all: all.map((one) => [one].flat().map((phrase) => finder.add(phrase))),
    none: none.map((phrase) => finder.add(phrase)),
    needs: (any.length > 0 ? PHRASE : 0) | (status.length > 0 ? STATUS : 0),
    status,
  };
}

/**
 * What an error record says of its cause. Deterministic; the time it takes grows with the length of `payload` and nothing
 * else. It fails closed: a failure is transient only if a row says so and nothing, in the whole text, speaks against it.
 * Rows of one family's passing troubles count for that family, or where the agent's kind is not known; rows of lasting ones
 * count for everybody.
 */
export function classify(provider: string, payload: string, nowMs: number): Diagnosis {
  const own = ownPayload(payload);
  const diagnosis = judge(familyOf(provider), own === null ? payload : own.evidence, nowMs);
  return own === null ? diagnosis : withOwn(own, diagnosis);
}

function judge(family: Family | null, payload: string, nowMs: number): Diagnosis {
  const reading = read(payload, nowMs);
  const matches = matching(reading, family);
  const passing = strongest(matches, ({ transient }) => transient);
  const worst = strongest(matches, ({ transient }) => !transient);
  // A 429 by itself says that there is a limit, not which: nothing against a row that knows, all against one that does not.
  const knowsLimit = passing !== null && (passing.signature.code === 'rate_limit' || passing.signature.when.despiteLimit === true);
  const against = knowsLimit ? strongest(matches, (one) => !one.transient && !isBareLimit(one)) : worst;
  const others = matches.map(({ signature }) => signature.id);
  if (passing !== null && against === null) {
    const word = speaksOfLimits(passing) ? undefined : reading.found.firstOf(lasting);
    if (word === undefined) return verdict(passing, reading, others, 'nothing speaks against it');
    return closed('neutral.lasting-word', reading, others, `"${finder.nameOf(word)}" speaks against ${passing.signature.id}`);
  }
  if (passing !== null && against !== null && passing.rank > against.rank) {
    return {
      ...closed(against.signature.id, reading, others, `${passing.signature.id} and ${against.signature.id} contradict each other`),
      code: against.signature.code,
    };
  }
  if (worst !== null)
    return verdict(worst, reading, others, passing === null ? 'the strongest that matched' : `outweighs ${passing.signature.id}`);
  return closed('neutral.unknown', reading, others, 'no row matched');
}

/** The first of the highest rank. */
function strongest(matches: readonly Compiled[], counts: (one: Compiled) => boolean): Compiled | null {
  let top: Compiled | null = null;
  for (const one of matches) if (counts(one) && (top === null || one.rank > top.rank)) top = one;
  return top;
}

function read(payload: string, nowMs: number): Reading {
  const text = plainText(payload);
  const found = finder.search(text);
  const reset = resets.read(text, found, nowMs);
  const near = reset === null ? null : resetMs(reset, nowMs) - nowMs <= NEAR_SECONDS * 1_000;
  return { text, found, statuses: statusesIn(text), reset, near };
}

/** The rows that hold for a family, in the order of the catalogue. Only those are looked at of which some phrase or status occurs. */
function matching(reading: Reading, family: Family | null): Compiled[] {
  evidence.fill(0);
  for (const phrase of reading.found.phrases) for (const row of rowsOfPhrase[phrase]!) evidence[row]! |= PHRASE;
  for (const status of reading.statuses) for (const row of rowsOfStatus.get(status) ?? []) evidence[row]! |= STATUS;
  const matches: Compiled[] = [];
  for (let place = 0; place < evidence.length; place++) {
    if (evidence[place] === 0) continue;
    const row = rows[place]!;
    if (concerns(row, family) && holds(row, evidence[place]!, reading)) matches.push(row);
  }
  return matches;
}

/** One for all: nobody reads it after `matching` has answered. */
const evidence = new Uint8Array(rows.length);

function holds({ signature, needs, all, none }: Compiled, seen: number, { text, found, near }: Reading): boolean {
  if ((seen & needs) !== needs) return false;
  if (signature.when.bare === true && !saysOnlyStatus(text)) return false;
  for (const one of all) if (!found.hasOne(one)) return false;
  if (found.hasOne(none)) return false;
  switch (signature.when.ends) {
    case 'near':
      return near === true;
    case 'notNear':
      return near !== true;
    case 'notFar':
      return near !== false;
    case undefined:
      return true;
  }
}

const BARE_LENGTH = 100;
const BARE_WORDS = new Set(
  'a an api answered bad code error failed from gateway got http internal on provider received request response returned server service status the unavailable unexpected upstream with'.split(
    ' ',
  ),
);

/** `got HTTP 503 from provider`, `{"status":502}`: there is no body, or it says nothing beside its status. */
function saysOnlyStatus(text: PlainText): boolean {
  if (text.length > BARE_LENGTH) return false;
  const words = readable(text).match(/[a-z_]+|[^\s\x21-\x7e]+/g) ?? [];
  return words.every((word) => BARE_WORDS.has(word));
}

const concerns = (one: Compiled, family: Family | null): boolean =>
  !one.transient || one.family === 'neutral' || family === null || one.family === family;

/** Its own words are among those of lasting failures. */
const speaksOfLimits = ({ signature }: Compiled): boolean => signature.code === 'rate_limit' || signature.when.ownWords === true;

const isBareLimit = ({ signature }: Compiled): boolean => signature.code === 'quota' && signature.confidence === 'low';

function verdict({ signature }: Compiled, { reset }: Reading, matched: readonly string[], why: string): Diagnosis {
  const { id, code, confidence } = signature;
  // A guess may name a failure; it may not class it.
  const known = confidence !== 'low';
  return {
    class: known ? ERROR_CODES[code].class : 'unclassified',
    code,
    retryable: known && mayRetry(code),
    confidence,
    rule: id,
    retryAfter: reset,
    matched: [id, ...matched.filter((other) => other !== id)],
    why,
  };
}

const closed = (rule: string, { reset }: Reading, matched: readonly string[], why: string): Diagnosis => ({
  class: 'unclassified',
  code: 'unknown',
  retryable: false,
  confidence: 'low',
  rule,
  retryAfter: reset,
  matched,
  why,
});

/** Our own payloads say what happened; the evidence in them may say why, unless what happened settles it. */
function withOwn(own: OwnPayload, inner: Diagnosis): Diagnosis {
  const knowsMore = inner.rule !== 'neutral.unknown' && inner.rule !== 'neutral.lasting-word' && inner.confidence !== 'low';
  if (!own.final && knowsMore && inner.code !== 'unknown_exit') return inner;
  return {
    class: ERROR_CODES[own.code].class,
    code: own.code,
    // Evidence that was read and says nothing certain speaks against trying again.
    retryable: mayRetry(own.code) && inner.matched.length === 0,
    confidence: 'exact',
    rule: own.rule,
    retryAfter: inner.retryAfter,
    matched: [own.rule, ...inner.matched],
    why: own.final || !knowsMore ? 'what happened says it all' : `outweighs ${inner.rule}`,
  };
}

/** Every row there is, for the report and for the tests of the catalogue. */
export const catalogueRows: readonly { readonly family: string; readonly signature: Signature }[] = rows.map(({ family, signature }) => ({
  family,
  signature,
}));
