/** A conversation's life (contract 2). Every UPDATE of `task_sessions.state` is generated from or guarded by this table. */
export const SESSION_STATES = ['CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'FAILED', 'COMPLETED', 'CANCELLED'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** Why a move is made that is not part of every turn. A rule that names one holds for nothing else. */
export type MoveCause = 'run_too_old' | 'recovery' | 'agent_left';

/** Between turns: IDLE for an Office task, WAITING_FOR_INPUT for any other. */
type RestingState = 'IDLE' | 'WAITING_FOR_INPUT';

interface Rule {
  readonly to: SessionState;
  readonly only?: MoveCause;
}

const REST: readonly Rule[] = [{ to: 'IDLE' }, { to: 'WAITING_FOR_INPUT' }];
const FROM_REST: readonly Rule[] = [
  { to: 'STARTING' },
  { to: 'RUNNING' },
  { to: 'FAILED', only: 'run_too_old' },
  { to: 'COMPLETED', only: 'agent_left' },
  { to: 'CANCELLED' },
];

const RULES: Readonly<Record<SessionState, readonly Rule[]>> = {
  CREATED: [{ to: 'STARTING' }, { to: 'FAILED' }, { to: 'CANCELLED' }],
  STARTING: [{ to: 'RUNNING' }, ...REST, { to: 'FAILED' }, { to: 'CANCELLED' }],
  RUNNING: [...REST, { to: 'FAILED' }, { to: 'CANCELLED' }, { to: 'COMPLETED' }],
  IDLE: FROM_REST,
  WAITING_FOR_INPUT: FROM_REST,
  // Only a person gets a conversation out of here: agents and the system never do (contract 3).
  FAILED: [
    { to: 'IDLE', only: 'recovery' },
    { to: 'WAITING_FOR_INPUT', only: 'recovery' },
    { to: 'COMPLETED', only: 'agent_left' },
  ],
  COMPLETED: [],
  CANCELLED: [],
};

/** Where a session of this kind of task rests. */
export const restOf = (isOffice: boolean): RestingState => (isOffice ? 'IDLE' : 'WAITING_FOR_INPUT');

/** Whether a session may move so. A session never rests in the other kind's resting state. */
export function mayMove(from: SessionState, to: SessionState, isOffice: boolean, cause?: MoveCause): boolean {
  return rests(to, isOffice) && RULES[from].some((rule) => rule.to === to && (rule.only === undefined || rule.only === cause));
}

/** The states from which a session may get to `to`, for the WHERE of an UPDATE. */
export const sourcesOf = (to: SessionState, cause?: MoveCause): SessionState[] =>
  SESSION_STATES.filter((from) => RULES[from].some((rule) => rule.to === to && (rule.only === undefined || rule.only === cause)));

/** COMPLETED and CANCELLED: a later wake of the pair makes a new row. */
export const isOver = (state: SessionState): boolean => RULES[state].length === 0;

/** The one definition of a live session: somebody is being served. Shown as a spinner, counted as `live_sessions`. */
export function isLiveSession(state: SessionState, isOffice: boolean): boolean {
  return state === 'STARTING' || state === 'RUNNING' || (state === 'WAITING_FOR_INPUT' && !isOffice);
}

/** The states `isLiveSession` holds for, so that SQL can ask the same question. */
export const liveStates = (isOffice: boolean): SessionState[] => SESSION_STATES.filter((state) => isLiveSession(state, isOffice));

const rests = (to: SessionState, isOffice: boolean): boolean => (to !== 'IDLE' && to !== 'WAITING_FOR_INPUT') || to === restOf(isOffice);
