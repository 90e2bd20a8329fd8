import { instantOf, nextClockTime, type ClockTime } from './zoned-time.js';

const MOST_SECONDS = 400 * 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1 };

/** All patterns are tried at one place of the text, so that nothing of it is copied. */
function at(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}

/** A period as agents write it: `2 days 17 hours 14 minutes`, `1h2m3s`, `6.5s`, `18 seconds`, `37`. Null: none stands there. */
const PERIOD =
  /(?:about |approximately )?((?:\d{1,9}(?:\.\d{1,9})?\s?(?:days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s|milliseconds?|millis|ms)(?![a-z0-9_])[\s,]{0,2}(?:and )?|\d{1,6}[dhms](?=\d)){1,6})/y;
const PART = /(\d{1,9}(?:\.\d{1,9})?)\s?(milliseconds?|millis|ms|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s)/g;

/** Seconds of the period that `text` tells at `from`. */
export function secondsOf(text: string, from = 0): number | null {
  const [, period] = at(PERIOD, text, from) ?? [];
  if (period === undefined) return null;
  let seconds = 0;
  PART.lastIndex = 0;
  // Not `matchAll`, which makes a pattern of its own every time.
  for (let part = PART.exec(period); part !== null; part = PART.exec(period)) {
    const [, amount, unit] = part;
    const milli = unit === 'ms' || unit!.startsWith('milli');
    seconds += Number(amount) * (milli ? 0.001 : UNIT_SECONDS[unit![0]!]!);
  }
  return seconds <= MOST_SECONDS ? seconds : null;
}

/** Epoch seconds or milliseconds, as epoch milliseconds. Only times of this century pass for one. */
function epochMs(digits: string): number | null {
  const value = Number(digits);
  if (digits.length === 10 && value > 1_500_000_000 && value < 4_100_000_000) return value * 1_000;
  return digits.length === 13 && value > 1_500_000_000_000 && value < 4_100_000_000_000 ? value : null;
}

export interface ResetAt {
  readonly kind: 'at';
  readonly ms: number;
}
export interface ResetIn {
  readonly kind: 'in';
  readonly seconds: number;
}
/** When a limit ends: a point in time or a period from now. Never from a time of day without its zone. */
export type Reset = ResetAt | ResetIn;

/** The earliest epoch milliseconds, given what time it is. */
export const resetMs = (reset: Reset, nowMs: number): number => (reset.kind === 'at' ? reset.ms : nowMs + reset.seconds * 1_000);

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAY = /(?:on )?([a-z]{3})[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?(?:,\s?(\d{4}))?(?:,\s?| at | )/y;
const CLOCK = /(?:at )?(\d{1,2})(?::(\d{2}))?\s?([ap])?\.?(?:m\.?)?(?![a-z0-9:])\s?\(([a-z_+\-/0-9]{1,40})\)/y;
const INSTANT = /(?:at )?(\d{4})-(\d{2})-(\d{2})[t ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?\s?(z|utc|[+-]\d{2}:?\d{2})(?![a-z0-9])/y;
const EPOCH = /\d{10}(?:\d{3})?(?!\d)/y;
const LEAD = /[\s:=|(]{0,3}/y;
const IN = /(?:in|after) /y;

const isDigit = (text: string, place: number): boolean => (text.charCodeAt(place) - 0x30) >>> 0 < 10;

/** What stands behind a word such as `resets`: text in its plain form, a bounded piece of it. */
export function readReset(text: string, nowMs: number): Reset | null {
  const from = at(LEAD, text, 0)![0].length;
  const number = isDigit(text, from);
  const [digits] = (number && at(EPOCH, text, from)) || [];
  if (digits !== undefined) {
    const ms = epochMs(digits);
    return ms === null ? null : { kind: 'at', ms };
  }
  // Of all of these only a day of the year begins with a letter that is not one of `in`, `after`, `at`, `about` and `approximately`.
  if (number || text[from] === 'a' || text[from] === 'i') {
    const instant = at(INSTANT, text, from);
    if (instant !== null) {
      const ms = instantOf(instant);
      return ms === null ? null : { kind: 'at', ms };
    }
    const seconds = secondsOf(text, from + (at(IN, text, from)?.[0].length ?? 0));
    if (seconds !== null) return { kind: 'in', seconds };
  }
  return readZoned(text, from, nowMs);
}

function readZoned(text: string, from: number, nowMs: number): Reset | null {
  const day = isDigit(text, from) ? null : at(DAY, text, from);
  const clock = at(CLOCK, text, from + (day?.[0].length ?? 0));
  if (clock === null) return null;
  const [, hour, minute = '0', half, zone] = clock;
  const time: ClockTime = {
    month: day === null ? null : MONTHS.indexOf(day[1]!) + 1,
    day: day === null ? null : Number(day[2]),
    hour: hourOf(Number(hour), half),
    minute: Number(minute),
    zone: zone!,
  };
  if (time.hour > 23 || time.minute > 59 || time.month === 0) return null;
  const ms = nextClockTime(time, nowMs);
  return ms === null ? null : { kind: 'at', ms };
}

const hourOf = (hour: number, half: string | undefined): number => (half === undefined ? hour : (hour % 12) + (half === 'p' ? 12 : 0));
