/** Why a waiting run does not run, in the order in which the first that holds is told (contract 4). */
export const WAITING_ON = [
  'workspace_stopped',
  'agent_stopped',
  'agent_paused',
  'session_failed',
  'breaker_open',
  'task_blocked',
  'previous_run_running',
  'task_busy',
  'host_offline',
  'adapter_missing',
  'provider_limited',
  'retry_scheduled',
  'cooling_down',
  'agent_at_capacity',
  'host_at_capacity',
  'claimable',
] as const;
export type WaitingOn = (typeof WAITING_ON)[number];
