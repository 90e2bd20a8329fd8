import { MAX_DEPTH } from './wake-reason.js';

/** Why a wake is not taken. Stored with the request, shown in the agent's next prompt, told to whoever asked. */
export type WakeRefusal =
  | 'agent_not_found'
  | 'agent_archived'
  | 'agent_stopped'
  | 'agent_pending_approval'
  | 'task_not_found'
  | 'task_terminal'
  | 'too_deep'
  | 'breaker_open';

export interface WakeSituation {
  /** Null: no such agent in the workspace. */
  readonly lifecycle: 'active' | 'stopped' | 'pending_approval' | 'archived' | null;
  /** Null: the wake names no task. */
  readonly task: { readonly found: boolean; readonly over: boolean } | null;
  readonly depth: number;
  /** The pair fails and fails, and this wake is no person's. */
  readonly breakerOpen: boolean;
}

/** Contract 3. A paused agent refuses nothing: its wakes queue and wait. */
export function judgeWake({ lifecycle, task, depth, breakerOpen }: WakeSituation): WakeRefusal | null {
  if (lifecycle === null) return 'agent_not_found';
  if (lifecycle === 'archived') return 'agent_archived';
  if (lifecycle === 'stopped') return 'agent_stopped';
  if (lifecycle === 'pending_approval') return 'agent_pending_approval';
  if (task !== null && !task.found) return 'task_not_found';
  if (task !== null && task.over) return 'task_terminal';
  if (depth > MAX_DEPTH) return 'too_deep';
  return breakerOpen ? 'breaker_open' : null;
}
