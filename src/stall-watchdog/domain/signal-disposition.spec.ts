import { describe, expect, it } from 'vitest';
import { SESSION_STATES } from '../../sessions/domain/session-state.js';
import { gatesOf, isUnknown, signalDisposition, type SignalFacts } from './signal-disposition.js';

const THRESHOLD = 600_000;
const SIGNALS = { current: true, past: false, none: null } as const;
const AGES = { under: THRESHOLD - 1, at: THRESHOLD, over: THRESHOLD + 1 } as const;
const ACTIVITY = { active: 0, 'just quiet enough': THRESHOLD, quiet: THRESHOLD + 1, unknown: null } as const;
const keys = <T extends object>(table: T) => Object.keys(table) as (keyof T)[];

/** Every row there is: state x signal x age x activity x Office x passthrough. */
const ROWS = SESSION_STATES.flatMap((state) =>
  keys(SIGNALS).flatMap((signal) =>
    keys(AGES).flatMap((age) =>
      keys(ACTIVITY).flatMap((activity) =>
        [true, false].flatMap((isOffice) =>
          [true, false].map((isPassthrough) => ({ state, signal, age, activity, isOffice, isPassthrough })),
        ),
      ),
    ),
  ),
);

const factsOf = (row: (typeof ROWS)[number]): SignalFacts => {
  const isCurrent = SIGNALS[row.signal];
  return {
    state: row.state,
    isOffice: row.isOffice,
    isPassthrough: row.isPassthrough,
    signal: isCurrent === null ? null : { isCurrent, ageMs: AGES[row.age] },
    quietMs: ACTIVITY[row.activity],
  };
};

/** What the contract says of a row, in its own words. */
function expected({ state, signal, age, activity, isOffice, isPassthrough }: (typeof ROWS)[number]): string {
  const stranded = signal === 'current' && age === 'over' && activity === 'quiet' && !isPassthrough;
  if (!stranded) return 'not_candidate';
  if (state === 'STARTING' || state === 'RUNNING') return isOffice ? 'candidate surface_only' : 'candidate reclaimable';
  if (state === 'WAITING_FOR_INPUT') return isOffice ? 'waiting_reconcile surface_only' : 'waiting_reconcile reclaimable';
  return isOffice && (state === 'IDLE' || state === 'FAILED') ? 'waiting_reconcile surface_only' : 'not_candidate';
}

describe('a session that may hold a stranded signal', () => {
  it.each(ROWS.filter((row) => expected(row) !== 'not_candidate'))(
    '$state, Office $isOffice, of a signal that is over the threshold and silent',
    (row) => {
      const { gate, disposition } = gatesOf(factsOf(row), THRESHOLD);
      expect(`${gate} ${disposition}`).toBe(expected(row));
    },
  );

  it('is none in every other row of the table', () => {
    const others = ROWS.filter((row) => expected(row) === 'not_candidate');
    expect(others.length).toBe(ROWS.length - 8);
    expect(others.filter((row) => gatesOf(factsOf(row), THRESHOLD).disposition !== 'not_candidate')).toEqual([]);
  });

  it('is judged by one function at both gates', () => {
    for (const row of ROWS.filter((one) => expected(one) !== 'not_candidate')) {
      expect(gatesOf(factsOf(row), THRESHOLD).disposition).toBe(signalDisposition(factsOf(row), THRESHOLD));
    }
  });

  it('is unknown exactly where only the silence is missing for a judgement', () => {
    const unknown = ROWS.filter((row) => isUnknown(factsOf(row), THRESHOLD));
    expect(unknown).toEqual(
      ROWS.filter((row) => row.activity === 'unknown' && expected({ ...row, activity: 'quiet' }) !== 'not_candidate'),
    );
    expect(unknown.length).toBe(8);
  });
});
