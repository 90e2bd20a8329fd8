/** A run's life, contract 2. Every UPDATE of `runs.status` is generated from or guarded by this table. */
export const RUN_TRANSITIONS = {
  queued: ['running', 'cancelled'],
  scheduled_retry: ['running', 'cancelled', 'failed'],
  running: ['completed', 'failed', 'timed_out', 'cancelled', 'scheduled_retry', 'queued'],
  completed: [],
  failed: [],
  timed_out: [],
  cancelled: [],
} as const satisfies Record<string, readonly string[]>;

export type RunStatus = keyof typeof RUN_TRANSITIONS;
export const RUN_STATUSES = Object.keys(RUN_TRANSITIONS) as RunStatus[];

export const isAllowed = (from: RunStatus, to: RunStatus): boolean => (RUN_TRANSITIONS[from] as readonly RunStatus[]).includes(to);
export const isTerminal = (status: RunStatus): boolean => RUN_TRANSITIONS[status].length === 0;

/** Waiting to be claimed. */
export const WAITING: readonly RunStatus[] = ['queued', 'scheduled_retry'];

/** What the Runs tab shows: a retry that waits is queued, a timeout is a failure (contract 2). */
export const RUN_PILLS = ['queued', 'running', 'failed', 'completed', 'cancelled'] as const;
export type RunPill = (typeof RUN_PILLS)[number];
const PILL_OF: Readonly<Record<RunStatus, RunPill>> = {
  queued: 'queued',
  scheduled_retry: 'queued',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  timed_out: 'failed',
  cancelled: 'cancelled',
};
export const pillOf = (status: RunStatus): RunPill => PILL_OF[status];
