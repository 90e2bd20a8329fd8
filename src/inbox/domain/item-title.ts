export const ITEM_KINDS = [
  'agent_run_failed',
  'agent_paused_after_failures',
  'runs_interrupted',
  'provider_hold',
  'permission_request',
  'approval',
  'capability_missing',
] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

export interface TitledTask {
  readonly identifier: string;
  readonly title: string;
}

/** Titles of inbox items (contract 8). */
export const failedTitle = (agent: string, task: TitledTask | null): string =>
  task === null ? `${agent} failed (no task)` : `${agent} failed on ${task.identifier} ${task.title}`.trimEnd();

export function pausedTitle(agent: string, failures: number, identifiers: readonly string[]): string {
  const tasks = identifiers.length === 0 ? 'no task' : `tasks ${identifiers.join(', ')}`;
  return `${agent} auto-paused after ${failures} failures (${tasks})`;
}

const REASON_CHARACTERS = 120;

/** Of an approval: the first line of why. */
export function approvalTitle(agent: string, type: string, reason: string): string {
  const [first = ''] = reason.trim().split('\n');
  const characters = Array.from(first);
  const line = characters.length > REASON_CHARACTERS ? `${characters.slice(0, REASON_CHARACTERS).join('')}…` : first;
  return `${agent} ${type === 'hire_agent' ? 'wants to hire' : 'asks'}: ${line}`;
}

/** Of a provider hold. */
export const heldTitle = (adapter: string): string => `${adapter} takes no more work until its limit resets`;

/** Of a permission request; `what` is the agent's own word for what it wants to do. */
export const askedTitle = (agent: string, what: string, task: TitledTask | null): string =>
  `${agent} asks${task === null ? '' : ` on ${task.identifier}`}: ${what}`;

/** Of a capability that an agent was refused something for. */
export const lacksTitle = (agent: string, capability: string, action: string): string =>
  `${agent} lacks ${capability} (refused: ${action})`;

const CAUSES: Readonly<Record<string, string>> = {
  host_restart: 'its restart',
  drain_deadline: 'its shutdown',
  lost_lease: 'the loss of its lease',
};
export const interruptedTitle = (host: string, cause: string): string => `Runs on ${host} were interrupted by ${CAUSES[cause] ?? cause}`;
