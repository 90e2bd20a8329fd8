import type { Found, PhraseFinder } from './phrase-finder.js';
import { readable, type PlainText } from './plain-text.js';
import { readReset, resetMs, type Reset } from './reset-time.js';

/** Words behind which an end may be told. `seconds`: a bare number there counts seconds. */
const CUES: readonly (readonly [phrase: string, seconds: boolean])[] = [
  ['try again in', false],
  ['try again at', false],
  ['try again after', false],
  ['retry in', false],
  ['retry after', false],
  ['resets', false],
  ['resets in', false],
  ['resets at', false],
  ['reset after', false],
  ['reset in', false],
  ['reset at', false],
  ['will reset on', false],
  ['available again at', false],
  ['limit reached|*', false],
  ['retrydelay:*', true],
  ['retry_delay:*', true],
  ['retry-after:*', true],
  ['retry_after:*', true],
  ['retryafter:*', true],
  ['retry-after-ms:*', false],
  ['retry_after_seconds:*', true],
  ['resets_in_seconds:*', true],
  ['reset_after_seconds:*', true],
  ['resets_at:*', false],
  ['resetsat:*', false],
  ['reset_at:*', false],
];
const READ = 96;

export class ResetReader {
  private readonly cues: readonly { readonly phrase: number; readonly seconds: boolean }[];

  constructor(finder: PhraseFinder) {
    this.cues = CUES.map(([phrase, seconds]) => ({ phrase: finder.add(phrase), seconds }));
  }

  /** The latest of all ends that are told: whoever waits for one of several limits waits for the last. */
  read(text: PlainText, found: Found, nowMs: number): Reset | null {
    let latest: Reset | null = null;
    for (const { phrase, seconds } of this.cues) {
      const end = found.endOf(phrase);
      if (end < 0) continue;
      const said = readable(text, end, end + READ);
      const [bare] = seconds ? (/^\s?(\d{1,8})(?:\.\d+)?(?![\d.]*\s?[a-z])/.exec(said) ?? []) : [];
      const reset: Reset | null = bare === undefined ? readReset(said, nowMs) : { kind: 'in', seconds: Number(bare) };
      if (reset !== null && (latest === null || resetMs(reset, nowMs) > resetMs(latest, nowMs))) latest = reset;
    }
    return latest;
  }
}
