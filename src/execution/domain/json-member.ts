const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * The text of one member of a JSON object exactly as it stands in `json`, or null. Of duplicate keys the last counts, as for
 * `JSON.parse`. It walks instead of recursing, so depth costs nothing; on text that is no JSON object it answers null.
 */
export function rawMember(json: string, name: string): string | null {
  let at = skipSpace(json, 0);
  if (json.charCodeAt(at) !== OPEN_BRACE) return null;
  at = skipSpace(json, at + 1);
  let found: string | null = null;
  for (; json.charCodeAt(at) !== CLOSE_BRACE; at = skipSpace(json, at)) {
    if (json.charCodeAt(at) === COMMA) at = skipSpace(json, at + 1);
    const keyEnd = endOfString(json, at);
    if (keyEnd < 0) return null;
    const colon = skipSpace(json, keyEnd);
    if (json.charCodeAt(colon) !== COLON) return null;
    const start = skipSpace(json, colon + 1);
    const end = endOfValue(json, start);
    if (end < 0) return null;
    if (isKey(json.slice(at, keyEnd), name)) found = json.slice(start, end);
    at = end;
  }
  return found;
}

function isKey(literal: string, name: string): boolean {
  if (!literal.includes('\\')) return literal.length === name.length + 2 && literal.slice(1, -1) === name;
  try {
    return JSON.parse(literal) === name;
  } catch {
    return false;
  }
}

function skipSpace(json: string, from: number): number {
  let at = from;
  for (let code = json.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; code = json.charCodeAt(at)) at++;
  return at;
}

/** The index after the closing quote of the string that opens at `from`; -1 when there is none. */
function endOfString(json: string, from: number): number {
  if (json.charCodeAt(from) !== QUOTE) return -1;
  for (let quote = json.indexOf('"', from + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return -1;
}

function endOfValue(json: string, from: number): number {
  const first = json.charCodeAt(from);
  if (first === QUOTE) return endOfString(json, from);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNest(json, from);
  let at = from;
  while (at < json.length && !endsScalar(json.charCodeAt(at))) at++;
  return at === from ? -1 : at;
}

const endsScalar = (code: number): boolean =>
  code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function endOfNest(json: string, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(json, at);
      if (end < 0) return -1;
      at = end - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  return -1;
}
