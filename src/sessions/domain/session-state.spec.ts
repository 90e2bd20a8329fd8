import { describe, expect, it } from 'vitest';
import { isLiveSession, isOver, liveStates, mayMove, restOf, SESSION_STATES, sourcesOf } from './session-state.js';
import type { MoveCause, SessionState } from './session-state.js';

const CAUSES: readonly (MoveCause | undefined)[] = [undefined, 'run_too_old', 'recovery', 'agent_left'];

/** Contract 2 once more, written out: `rest` stands for IDLE of the Office and WAITING_FOR_INPUT elsewhere. */
const EVER: Readonly<Record<SessionState, readonly string[]>> = {
  CREATED: ['STARTING', 'FAILED', 'CANCELLED'],
  STARTING: ['RUNNING', 'rest', 'FAILED', 'CANCELLED'],
  RUNNING: ['rest', 'FAILED', 'CANCELLED', 'COMPLETED'],
  IDLE: ['STARTING', 'RUNNING', 'FAILED when run_too_old', 'COMPLETED when agent_left', 'CANCELLED'],
  WAITING_FOR_INPUT: ['STARTING', 'RUNNING', 'FAILED when run_too_old', 'COMPLETED when agent_left', 'CANCELLED'],
  FAILED: ['rest when recovery', 'COMPLETED when agent_left'],
  COMPLETED: [],
  CANCELLED: [],
};

const cells = SESSION_STATES.flatMap((from) =>
  SESSION_STATES.flatMap((to) =>
    [true, false].flatMap((isOffice) =>
      CAUSES.map((cause) => {
        const name = to === restOf(isOffice) ? 'rest' : to;
        const allowed = EVER[from].includes(name) || (cause !== undefined && EVER[from].includes(`${name} when ${cause}`));
        return { from, to, kind: isOffice ? 'an Office' : 'another', isOffice, cause, allowed };
      }),
    ),
  ),
);
const forbidden = cells.filter(({ allowed }) => !allowed);
const allowed = cells.filter((cell) => cell.allowed);

describe('a session', () => {
  it.each(forbidden)('of $kind task refuses to go from $from to $to (cause: $cause)', ({ from, to, isOffice, cause }) => {
    expect(mayMove(from, to, isOffice, cause)).toBe(false);
  });

  it.each(allowed)('of $kind task may go from $from to $to (cause: $cause)', ({ from, to, isOffice, cause }) => {
    expect(mayMove(from, to, isOffice, cause)).toBe(true);
  });

  it('covers every cell of the table once', () => {
    expect(cells).toHaveLength(8 * 8 * 2 * 4);
    expect(allowed.length).toBeGreaterThan(0);
  });

  it.each([true, false])('lists as sources exactly the states it may come from (Office: %s)', (isOffice) => {
    for (const to of SESSION_STATES.filter((state) => state !== restOf(!isOffice))) {
      for (const cause of CAUSES) {
        expect(sourcesOf(to, cause)).toEqual(SESSION_STATES.filter((from) => mayMove(from, to, isOffice, cause)));
      }
    }
  });

  it('is over when completed or cancelled, and only then', () => {
    expect(SESSION_STATES.filter(isOver)).toEqual(['COMPLETED', 'CANCELLED']);
  });
});

describe('isLiveSession', () => {
  it.each([
    ['CREATED', false, false],
    ['STARTING', true, true],
    ['RUNNING', true, true],
    ['IDLE', false, false],
    ['WAITING_FOR_INPUT', false, true],
    ['FAILED', false, false],
    ['COMPLETED', false, false],
    ['CANCELLED', false, false],
  ] as const)('of %s is %s for the Office and %s elsewhere', (state, office, elsewhere) => {
    expect([isLiveSession(state, true), isLiveSession(state, false)]).toEqual([office, elsewhere]);
  });

  it('has its answers listed for SQL', () => {
    expect(liveStates(true)).toEqual(['STARTING', 'RUNNING']);
    expect(liveStates(false)).toEqual(['STARTING', 'RUNNING', 'WAITING_FOR_INPUT']);
  });
});
