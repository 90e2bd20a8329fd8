export interface FailingAgent {
  readonly consecutiveFailures: number;
  /** The agent's own threshold; null inherits the workspace's. */
  readonly ownThreshold: number | null;
  readonly workspaceThreshold: number;
  readonly pauseSource: 'auto' | 'person' | null;
}

/** `item`: the failure shows by itself. `pause`: an episode opens. `renew`: an episode replaces the one that is open. */
export type FailureAction = 'item' | 'pause' | 'renew';

export interface FailureAccount {
  readonly failures: number;
  readonly action: FailureAction;
}

export const effectiveThreshold = (agent: Pick<FailingAgent, 'ownThreshold' | 'workspaceThreshold'>): number =>
  agent.ownThreshold ?? agent.workspaceThreshold;

/** Contract 5, steps 5 to 7. A person's pause is never rewritten; its failures show by themselves. */
export function accountFailure(agent: FailingAgent): FailureAccount {
  const failures = agent.consecutiveFailures + 1;
  if (failures < effectiveThreshold(agent) || agent.pauseSource === 'person') return { failures, action: 'item' };
  return { failures, action: agent.pauseSource === 'auto' ? 'renew' : 'pause' };
}

export const pauseReason = (failures: number, lastError: string): string =>
  `Auto-paused: ${failures} consecutive failures. Last error: ${lastError}`;
