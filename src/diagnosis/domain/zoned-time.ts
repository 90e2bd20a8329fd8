/** A time of day in a named zone, perhaps on a day of the year. */
export interface ClockTime {
  readonly month: number | null;
  readonly day: number | null;
  readonly hour: number;
  readonly minute: number;
  /** As a person or an agent writes it; case does not matter. */
  readonly zone: string;
}

const DAY_MS = 86_400_000;

/** Days since 1970-01-01 of a date of the Gregorian calendar. */
function dayNumber(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468;
}

const utcMs = (year: number, month: number, day: number, hour: number, minute: number, second = 0): number =>
  dayNumber(year, month, day) * DAY_MS + (hour * 3_600 + minute * 60 + second) * 1_000;

/** Epoch milliseconds of a matched RFC 3339 time with its offset. */
export function instantOf([, year, month, day, hour, minute, second = '0', zone]: readonly (string | undefined)[]): number | null {
  if (Number(month) > 12 || Number(day) > 31 || Number(hour) > 23 || Number(minute) > 59) return null;
  const local = utcMs(Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second));
  const offset = /^([+-])(\d{2}):?(\d{2})$/.exec(zone ?? '');
  if (offset === null) return local;
  return local - (offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3])) * 60_000;
}

/** The next time the clocks of that zone show it; null when there is no such zone. */
export function nextClockTime(time: ClockTime, nowMs: number): number | null {
  const clock = clockOf(time.zone);
  if (clock === null) return null;
  const ahead = clock(nowMs);
  const today = Math.floor((nowMs + ahead) / DAY_MS);
  if (time.month !== null && time.day !== null) {
    const thisYear = yearOf(today);
    for (const year of [thisYear, thisYear + 1]) {
      const shown = utcMs(year, time.month, time.day, time.hour, time.minute);
      // No two clocks are further apart than that: what is past for all of them needs no look at one.
      if (shown < nowMs - 3 * DAY_MS) continue;
      const ms = atZone(clock, shown, ahead);
      if (ms > nowMs - DAY_MS) return ms;
    }
    return null;
  }
  const shown = today * DAY_MS + (time.hour * 3_600 + time.minute * 60) * 1_000;
  const ms = atZone(clock, shown, ahead);
  return ms > nowMs ? ms : atZone(clock, shown + DAY_MS, ahead);
}

/** The year in which a day since 1970-01-01 lies. */
function yearOf(day: number): number {
  const guess = 1970 + Math.floor(day / 365.2425);
  return [guess + 1, guess, guess - 1].find((year) => dayNumber(year, 1, 1) <= day)!;
}

/** How far the clocks of a zone are ahead of UTC's at an instant, in milliseconds. */
type ZoneClock = (ms: number) => number;

/** Making one takes as long as reading three payloads, and an office's agents live in a few zones; null: there is no such zone. */
const clocks = new Map<string, ZoneClock | null>();
const MOST_CLOCKS = 64;

function clockOf(zone: string): ZoneClock | null {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    if (clocks.size >= MOST_CLOCKS) clocks.clear();
    clock = makeClock(zone);
    clocks.set(zone, clock);
  }
  return clock;
}

/** Clocks are put forward and back at a quarter of an hour, all over the world. */
const QUARTER_MS = 15 * 60_000;
const MOST_QUARTERS = 64;

/** `4/24/2026, 05:06:40`: to take this apart is a quarter of the work of having it told in parts. */
const SHOWN = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

function makeClock(zone: string): ZoneClock | null {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return null;
  }
  const known = new Map<number, number>();
  return (ms) => {
    const quarter = Math.floor(ms / QUARTER_MS);
    let ahead = known.get(quarter);
    if (ahead === undefined) {
      const [, ...parts] = SHOWN.exec(format.format(quarter * QUARTER_MS))!;
      const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
      ahead = utcMs(year, month, day, hour, minute, second) - quarter * QUARTER_MS;
      if (known.size >= MOST_QUARTERS) known.clear();
      known.set(quarter, ahead);
    }
    return ahead;
  };
}

/**
 * The instant at which the zone's clocks show what UTC's show at `shown`; `ahead` is how far they are ahead now. Asked twice where
 * that changes on the way.
 */
function atZone(clock: ZoneClock, shown: number, ahead: number): number {
  let ms = shown - ahead;
  for (let pass = 0; pass < 2; pass++) {
    const then = shown - clock(ms);
    if (then === ms) return ms;
    ms = then;
  }
  return ms;
}
