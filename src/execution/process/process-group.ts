import { isAlive, listProcesses } from './process-table.js';

/** Sends a signal to every process of a group. False when there is none. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  return send(-group, signal);
}

export const signalProcess = (pid: number, signal: NodeJS.Signals): boolean => send(pid, signal);

/** A process that is stopped acts on SIGTERM only once it goes on. */
export function terminateGroup(group: number): boolean {
  const there = signalGroup(group, 'SIGTERM');
  if (there) signalGroup(group, 'SIGCONT');
  return there;
}

/** Those of the groups in which a live process is left. One that only waits to be reaped (by an init that may never do it) is not. */
export async function livingGroups(groups: readonly number[]): Promise<number[]> {
  const there = groups.filter((group) => send(-group, 0));
  if (there.length === 0) return there;
  const table = await listProcesses();
  // Where no process can be listed the signal has the last word.
  if (table.length === 0) return there;
  const live = new Set(table.filter(isAlive).map((row) => row.group));
  return there.filter((group) => live.has(group));
}

function send(target: number, signal: NodeJS.Signals | 0): boolean {
  // 0 and -1 would reach our own group, or everybody.
  if (!Number.isSafeInteger(target) || Math.abs(target) < 2) throw new RangeError(`no process or group of an agent: ${target}`);
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    // There is one, but it is not ours to signal.
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return true;
    throw error;
  }
}
