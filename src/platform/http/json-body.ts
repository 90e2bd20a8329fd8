import { OfficeError } from '../errors/office-error.js';

/** Deeper than any body we take, and shallow enough that everything which walks a body may recurse. */
const MAX_DEPTH = 100;

/**
 * The depth of brackets in a JSON text, without parsing it: walks code units and skips strings.
 * Only meaningful for valid JSON; for anything else the parser has the last word.
 */
export function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (inString) {
      if (unit === 0x5c) at++;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x7b || unit === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (unit === 0x7d || unit === 0x5d) depth--;
  }
  return deepest;
}

/**
 * Keys that validation would drop without a word, because code that copies objects may trip over them. In free JSON, too:
 * a setting that is not stored as it was sent is worse than one that is refused.
 */
const REFUSED_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
/** Such a key in any spelling; most bodies have none, and looking at every key costs more than parsing. */
const SUSPECT = /__proto__|constructor|prototype|\\u00/i;

/** A body as JSON; undefined when it is empty. Refuses what is no JSON, too deep, or has a refused key anywhere. */
export function parseBody(text: string): unknown {
  if (text === '') return undefined;
  if (nestingOf(text) > MAX_DEPTH) throw new OfficeError('invalid_json', { reason: `nested deeper than ${MAX_DEPTH}` });
  try {
    return JSON.parse(text, SUSPECT.test(text) ? refuseKeys : undefined);
  } catch (error) {
    throw error instanceof OfficeError ? error : new OfficeError('invalid_json');
  }
}

function refuseKeys(key: string, value: unknown): unknown {
  if (REFUSED_KEYS.has(key)) throw new OfficeError('invalid_json', { reason: `has a key ${key}` });
  return value;
}

/**
 * What stands for a body that could not be read, until somebody has said who may ask at all: Fastify reads bodies before any guard
 * is asked, and whoever may not come in is told no more than that. It has no fields.
 */
export class UnreadBody {
  readonly #problem: OfficeError;

  constructor(problem: OfficeError) {
    this.#problem = problem;
  }

  /** The last question of every guard: here the refusal of a body is due. */
  static assertNone(body: unknown): void {
    if (body instanceof UnreadBody) throw body.#problem;
  }
}
