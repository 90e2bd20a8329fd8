import type { Evidence, Outcome, TurnEnd, Usage } from '../../execution/agent-runtime.js';
import { LEAVES_TASK } from '../../runs/domain/cancel-reason.js';
import type { SessionState } from '../../sessions/domain/session-state.js';

export type InterruptionCause = 'host_restart' | 'drain_deadline' | 'lost_lease';

/** What an execution came to, or that its host did not live to see it. */
export type Result =
  | Exclude<Outcome, { kind: 'error' }>
  /** Evidence is null where we failed ourselves and know nothing of what the agent did. */
  | { readonly kind: 'error'; readonly payload: string; readonly evidence: Evidence | null; readonly usage?: Usage | null }
  | { readonly kind: 'interrupted'; readonly cause: InterruptionCause };

export interface RunAtEnd {
  readonly launched: boolean;
  /** A stop that was committed before this settle (contract 5: it wins, whatever the agent answered). */
  readonly stopReason: string | null;
}

/** How a run ends. One of these per run, decided here and nowhere else (contract 5, table). */
export type Ending =
  | { readonly status: 'completed'; readonly stopReason: TurnEnd; readonly usage: Usage | null; readonly lastMessage: string | null }
  | { readonly status: 'cancelled'; readonly cancelReason: string }
  | { readonly status: 'failed' | 'timed_out'; readonly kind: 'error'; readonly payload: string }
  | { readonly status: 'failed'; readonly kind: 'interrupted'; readonly cause: InterruptionCause; readonly payload: string }
  | { readonly status: 'queued' };

/** `stale`: the run was not this owner's any more; nothing changed but, once, the attempt's late result. */
export type Settled = Ending['status'] | 'scheduled_retry' | 'merged' | 'stale';

export function endingOf(result: Result, run: RunAtEnd): Ending {
  if (run.stopReason !== null) return { status: 'cancelled', cancelReason: run.stopReason };
  switch (result.kind) {
    case 'turn_ended':
      return { status: 'completed', stopReason: result.stopReason, usage: result.usage, lastMessage: result.lastMessage };
    case 'error':
      return { status: 'failed', kind: 'error', payload: result.payload };
    case 'timed_out':
      return { status: 'timed_out', kind: 'error', payload: result.payload };
    case 'stopped':
      // Stopped by us without a committed stop: only ever because this server was going away.
      return interrupted('drain_deadline', run);
    case 'interrupted':
      return interrupted(result.cause, run);
  }
}

/** Before the launch nothing can have happened, so the run may simply wait again (contract 4). */
function interrupted(cause: InterruptionCause, run: RunAtEnd): Ending {
  if (!run.launched) return { status: 'queued' };
  return { status: 'failed', kind: 'interrupted', cause, payload: JSON.stringify({ kind: 'interrupted', cause }) };
}

/** Where the session goes with its run. */
export function sessionAfter(ending: Ending, from: SessionState, rest: 'IDLE' | 'WAITING_FOR_INPUT'): SessionState {
  switch (ending.status) {
    case 'completed':
    case 'queued':
      return rest;
    case 'cancelled':
      if (!LEAVES_TASK.has(ending.cancelReason)) return rest;
      return from === 'STARTING' ? 'CANCELLED' : 'COMPLETED';
    case 'failed':
    case 'timed_out':
      return 'FAILED';
  }
}

/**
 * What an owner that asks again was to be told the first time: its attempt came to `said`. `now` is the run as it is, which may
 * have gone on since.
 */
export function toldBefore(
  said: 'turn_ended' | 'error' | 'timed_out',
  generation: number,
  now: { readonly status: string; readonly generation: number },
): Settled {
  if (said === 'turn_ended') return 'completed';
  if (now.generation !== generation) return 'scheduled_retry';
  if (now.status === 'cancelled') return 'merged';
  return now.status === 'failed' || now.status === 'timed_out' ? now.status : 'scheduled_retry';
}
