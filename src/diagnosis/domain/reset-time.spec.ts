import { describe, expect, it } from 'vitest';
import { classify } from './classifier.js';
import { resetMs, secondsOf } from './reset-time.js';

/** 2026-02-03T10:00:00Z, a Tuesday. */
const NOW = 1_770_112_800_000;
const ISO = new Intl.DateTimeFormat('sv-SE', { timeZone: 'UTC', dateStyle: 'short', timeStyle: 'medium' });
const endOf = (payload: string): string | null => {
  const { retryAfter } = classify('claude', payload, NOW);
  return retryAfter === null ? null : ISO.format(resetMs(retryAfter, NOW));
};

describe('the end of a limit', () => {
  it.each([
    ['a relative period', "You've hit your usage limit. Try again in 2 days 17 hours 14 minutes.", '2026-02-06 03:14:00'],
    ['hours and minutes', "You've hit your usage limit. Upgrade to Pro or try again in 8 hours 30 minutes.", '2026-02-03 18:30:00'],
    ['a compact period', 'Your quota will reset after 17h12m3s.', '2026-02-04 03:12:03'],
    ['seconds with a fraction', 'Rate limit reached on tokens per min (TPM). Please try again in 1.5s.', '2026-02-03 10:00:01'],
    ['epoch seconds after a bar', 'Claude AI usage limit reached|1770120000', '2026-02-03 12:00:00'],
    ['a field of epoch seconds', '{"type":"usage_limit_reached","resets_at":1770120000}', '2026-02-03 12:00:00'],
    ['a field of seconds', '{"type":"usage_limit_reached","resets_in_seconds":3600}', '2026-02-03 11:00:00'],
    ['a header', 'usage limit, Retry-After: 120', '2026-02-03 10:02:00'],
    ['a RetryInfo', '{"retryDelay":"37s","reason":"quota exceeded"}', '2026-02-03 10:00:37'],
    ['the later of two', '{"resets_in_seconds":60,"retryDelay":"3600s"}', '2026-02-03 11:00:00'],
    ['an RFC 3339 time', 'usage limit, resets at 2026-02-03T14:00:00Z', '2026-02-03 14:00:00'],
    ['one with an offset', 'usage limit, resets at 2026-02-03T14:00:00+02:00', '2026-02-03 12:00:00'],
    ['a clock in a zone, today', "You've hit your session limit · resets 3:50pm (UTC)", '2026-02-03 15:50:00'],
    ['a clock in a zone, tomorrow', "You've hit your limit · resets 2:30am (UTC)", '2026-02-04 02:30:00'],
    ['a clock in a far zone', "You've hit your session limit · resets 8am (Asia/Bangkok)", '2026-02-04 01:00:00'],
    ['a 24-hour clock', "You've hit your usage limit. Try again at 21:30 (UTC).", '2026-02-03 21:30:00'],
    ['a day in a zone', "You're out of extra usage · resets Feb 4, 8pm (Europe/Budapest)", '2026-02-04 19:00:00'],
    ['a day of the next year', "You've hit your weekly limit · resets Jan 2, 8pm (UTC)", '2027-01-02 20:00:00'],
    ['summer time', "You've hit your weekly limit · resets Jul 4, 8pm (Europe/Budapest)", '2026-07-04 18:00:00'],
  ])('is read from %s', (_what, payload, end) => {
    expect(endOf(payload)).toBe(end);
  });

  it.each([
    ['a clock without a zone', "You've hit your usage limit, or try again at 2:51 PM."],
    ['a zone that is none', "You've hit your limit · resets 4 a.m. (Asia/<...>)"],
    ['a placeholder', "You've hit your weekly limit · resets <date>, <time> (<tz>)"],
    ['a number that counts nothing', 'usage limit, resets 5'],
    ['an impossible clock', "You've hit your limit · resets 99:99 (UTC)"],
    ['a number that is no epoch', 'Claude AI usage limit reached|12'],
    ['a period beyond all reason', "You've hit your usage limit. Try again in 9000 days."],
  ])('is not guessed from %s', (_what, payload) => {
    expect(endOf(payload)).toBeNull();
  });
});

describe('secondsOf', () => {
  it.each([
    ['37s', 37],
    ['1h2m3s', 3_723],
    ['500ms', 0.5],
    ['2 days 1 hour', 176_400],
    ['3 min', 180],
    ['5', null],
    ['5 parsecs', null],
    ['', null],
  ])('%j', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds);
  });
});
