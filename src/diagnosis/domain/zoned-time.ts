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
  const zone = clockOf(time.zone);
  if (zone === null) return null;
  const today = zone(nowMs);
  if (time.month !== null && time.day !== null) {
    for (const year of [today.year, today.year + 1]) {
      const ms = atZone(zone, utcMs(year, time.month, time.day, time.hour, time.minute));
      if (ms > nowMs - DAY_MS) return ms;
    }
    return null;
  }
  const ms = atZone(zone, utcMs(today.year, today.month, today.day, time.hour, time.minute));
  return ms > nowMs ? ms : atZone(zone, utcMs(today.year, today.month, today.day, time.hour, time.minute) + DAY_MS);
}

type ZoneClock = (ms: number) => { readonly year: number; readonly month: number; readonly day: number; readonly shown: number };

function clockOf(zone: string): ZoneClock | null {
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
  return (ms) => {
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)])) as Record<string, number>;
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = part;
    return { year, month, day, shown: utcMs(year, month, day, hour, minute, second) };
  };
}

/** The instant at which the zone's clocks show what UTC's clocks show at `shown`. Twice, for an offset that changes on the way. */
function atZone(zone: ZoneClock, shown: number): number {
  let ms = shown;
  for (let pass = 0; pass < 2; pass++) ms += shown - zone(ms).shown;
  return ms;
}
