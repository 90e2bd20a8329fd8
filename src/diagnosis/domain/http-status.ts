import { WORD, type PlainText } from './plain-text.js';

/** What stands before a number that is a status, not a line, a duration or a count. */
const LEADS: readonly string[] = [
  'http',
  'http/1.0',
  'http/1.1',
  'http/2',
  'http/2.0',
  'status',
  'statuscode',
  'status_code',
  'status-code',
  'http_status',
  'httpstatus',
  'httpstatuscode',
  'http_status_code',
  'code',
  'errorcode',
  'error_code',
  'error',
  'apierror',
  'capierror',
  'api_error',
  'failed',
  'rejected',
  'returned',
];
const LEAD_LENGTH = 17;

/** By a sum of their letters, last first, so that no text is copied to look for one. */
const LEAD_OF_SUM: ReadonlyMap<number, string> = new Map(
  LEADS.map((lead) => [Array.from(lead, (mark) => mark.charCodeAt(0)).reduceRight(withLetter, 0), lead]),
);

function withLetter(sum: number, code: number): number {
  return (sum * 31 + code) & 0xff_ffff;
}

const PERCENT = 0x25;
const COMMA = 0x2c;
const POINT = 0x2e;

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= 0x30 && code <= 0x39;
const codesOf = (marks: string): ReadonlySet<number> => new Set(Array.from(marks, (mark) => mark.charCodeAt(0)));
/** `4.29`, `1,429`, `#429`, `$429`, `-429`, `v429` and `429%` are no statuses. */
const TIES: ReadonlySet<number> = codesOf('.,#$-/%@+');
const BETWEEN: ReadonlySet<number> = codesOf(' :=([<>|');

/** The HTTP statuses (400 to 599) that a text states as such: whole numbers, and only where a status stands. */
export function statusesIn(text: PlainText): Set<number> {
  const { codes, length, numbers } = text;
  const found = new Set<number>();
  for (const at of numbers) {
    const first = codes[at]! - 0x30;
    if ((first !== 4 && first !== 5) || at + 2 >= length || !isDigit(codes[at + 1]) || !isDigit(codes[at + 2])) continue;
    if (!standsAlone(codes, length, at)) continue;
    if (isLed(text, at) || opensText(codes, length, at)) found.add(first * 100 + (codes[at + 1]! - 0x30) * 10 + codes[at + 2]! - 0x30);
  }
  return found;
}

function standsAlone(codes: Uint16Array, length: number, at: number): boolean {
  if (at > 0 && TIES.has(codes[at - 1]!)) return false;
  if (at + 3 >= length) return true;
  const after = codes[at + 3]!;
  if (WORD[after] === 1 || after === PERCENT) return false;
  return !((after === POINT || after === COMMA) && at + 4 < length && isDigit(codes[at + 4]));
}

function isLed(text: PlainText, at: number): boolean {
  const { codes } = text;
  let end = at;
  while (end > 0 && at - end < 4 && BETWEEN.has(codes[end - 1]!)) end--;
  if (end === at) return false;
  let start = end;
  let sum = 0;
  while (start > 0 && end - start <= LEAD_LENGTH && isNameLike(codes[start - 1]!)) sum = withLetter(sum, codes[--start]!);
  const lead = LEAD_OF_SUM.get(sum);
  if (lead?.length !== end - start) return false;
  for (let place = 0; place < lead.length; place++) if (lead.charCodeAt(place) !== codes[start + place]) return false;
  return true;
}

const isNameLike = (code: number): boolean => WORD[code] === 1 || code === 0x2f || code === 0x2e || code === 0x2d;

/** `402 {…}`, `503: …` or nothing but `502`. */
function opensText(codes: Uint16Array, length: number, at: number): boolean {
  if (at > 3) return false;
  for (let before = 0; before < at; before++) if (WORD[codes[before]!] === 1) return false;
  if (at + 3 >= length) return true;
  const after = codes[at + 3]!;
  if (after === 0x3a || after === 0x7b) return true;
  return after === 0x20 && (codes[at + 4] === 0x7b || codes[at + 4] === 0x28 || codes[at] === 0x34);
}
