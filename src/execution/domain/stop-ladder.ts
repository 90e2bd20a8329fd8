/** The means of ending an agent, from polite to not. */
export type StopMeans = 'cancel' | 'close_stdin' | 'terminate' | 'kill';

/** Which request of ours the agent has not answered: its prompt, one of those before it, or none. */
export type OpenRequest = 'prompt' | 'start' | 'none';

/** Agents that heed the end of their stdin do so at once; those that do not are not waited for. */
const STDIN_MS = 1_000;

/** The next, harder means, and how long it gets (contract 5, "Stopping"); null after the last one. */
export function nextStop(previous: StopMeans | null, open: OpenRequest, graceMs: number): { means: StopMeans; waitMs: number } | null {
  if (previous === 'kill') return null;
  if (previous === 'terminate') return { means: 'kill', waitMs: graceMs };
  if (previous === null && open === 'prompt') return { means: 'cancel', waitMs: graceMs };
  // An agent that owes no answer is let go politely; one that ignored the cancel, or never came up, is not.
  if (previous !== 'close_stdin' && open === 'none') return { means: 'close_stdin', waitMs: Math.min(STDIN_MS, graceMs) };
  return { means: 'terminate', waitMs: graceMs };
}
