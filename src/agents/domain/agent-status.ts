/** What is stored of an agent's standing. What people see is derived from it, never stored (contract 1). */
export const LIFECYCLES = ['active', 'stopped', 'pending_approval', 'archived'] as const;
export type Lifecycle = (typeof LIFECYCLES)[number];

/** The first that holds, in this order. */
export const AGENT_STATUSES = ['archived', 'stopped', 'pending_approval', 'paused', 'working', 'idle'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

export type PauseSource = 'auto' | 'person';

export interface Standing {
  readonly lifecycle: Lifecycle;
  readonly pauseSource: PauseSource | null;
  readonly liveSessions: number;
}

export function statusOf({ lifecycle, pauseSource, liveSessions }: Standing): AgentStatus {
  if (lifecycle !== 'active') return lifecycle;
  if (pauseSource !== null) return 'paused';
  return liveSessions > 0 ? 'working' : 'idle';
}

export type LifecycleSwitch = 'stop' | 'start';

/**
 * Where a switch takes an agent, or null where it may not be used: only an approval lets a pending agent in, and an
 * archived one never comes back.
 */
export function switched(from: Lifecycle, by: LifecycleSwitch): Lifecycle | null {
  if (from === 'archived' || from === 'pending_approval') return null;
  return by === 'stop' ? 'stopped' : 'active';
}
