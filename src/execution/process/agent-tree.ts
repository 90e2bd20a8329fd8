import type { Clock } from '../../platform/clock/clock.js';
import { livingGroups, signalGroup, signalProcess, terminateGroup } from './process-group.js';
import { descendantsOf, isAlive, listProcesses, markedProcesses, readProcess, type ProcessRow } from './process-table.js';

/** What is needed to find all processes of one execution, also after a restart and when pids have been used again. */
export interface AgentTree {
  readonly executionId: string;
  /** The leader's pid, which is the group's id. */
  readonly group: number;
  /** When the leader started, in the system's ticks; null where that cannot be known. */
  readonly startTicks: number | null;
}

export type Ticks = Pick<Clock, 'monotonicMs' | 'sleep'>;

const LOOK_MS = 50;

/**
 * Whether the group is still the one that was recorded. While its leader lives the start tells; afterwards its id cannot
 * be given to another leader as long as one member lives, so that `lax` (we have watched it all along) says yes.
 */
async function isRecorded(tree: AgentTree, mode: 'strict' | 'lax'): Promise<boolean> {
  const leader = await readProcess(tree.group);
  if (leader !== null) return tree.startTicks === null ? mode === 'lax' : leader.startTicks === tree.startTicks;
  return mode === 'lax';
}

/** Those that left the group: by their marker, or because they descended from it when we last looked. */
export class Escapees {
  private readonly seen = new Map<number, ProcessRow>();

  constructor(private readonly trees: readonly AgentTree[]) {}

  /**
   * Remembers who descends from these leaders now; once they have ended, the chain of parents is broken. Only for leaders
   * that are known to be ours at this moment: the family of another process that got the pid would die for it.
   */
  async look(leaders: readonly number[]): Promise<void> {
    for (const row of descendantsOf(new Set(leaders), await listProcesses())) this.seen.set(row.pid, row);
  }

  /** All that live outside the groups. */
  async find(): Promise<ProcessRow[]> {
    const groups = new Set(this.trees.map(({ group }) => group));
    const since = Math.min(...this.trees.map(({ startTicks }) => startTicks ?? 0));
    const found = new Map<number, ProcessRow>();
    for (const row of await markedProcesses(new Set(this.trees.map(({ executionId }) => executionId)), since)) found.set(row.pid, row);
    for (const row of this.seen.values()) {
      const now = await readProcess(row.pid);
      if (now?.startTicks === row.startTicks && isAlive(now)) found.set(row.pid, now);
      else this.seen.delete(row.pid);
    }
    return [...found.values()].filter((row) => !groups.has(row.group));
  }

  /** Kills them all, and says whether there were any. Whoever forks meanwhile is met by the next call. */
  async kill(): Promise<boolean> {
    const found = await this.find();
    for (const { pid } of found) signalProcess(pid, 'SIGKILL');
    return found.length > 0;
  }
}

/**
 * Ends whole trees for good: SIGTERM to the groups, SIGKILL to what is left of them after `termMs`, and to those that left
 * them. Returns once nothing is left or `deadlineMs` has passed; true means that nothing is left.
 */
export async function endTrees(
  trees: readonly AgentTree[],
  ticks: Ticks,
  limits: { readonly termMs: number; readonly deadlineMs: number; readonly mode: 'strict' | 'lax' },
): Promise<boolean> {
  const start = ticks.monotonicMs();
  const elapsed = (): number => ticks.monotonicMs() - start;
  const escapees = new Escapees(trees);
  let groups: number[] = [];
  for (const tree of trees) if (await isRecorded(tree, limits.mode)) groups.push(tree.group);
  await escapees.look(groups);
  for (const group of groups) terminateGroup(group);
  while (groups.length > 0 && elapsed() < limits.termMs) {
    await ticks.sleep(LOOK_MS);
    groups = await livingGroups(groups);
  }
  for (;;) {
    for (const group of groups) signalGroup(group, 'SIGKILL');
    const escaped = await escapees.kill();
    groups = await livingGroups(groups);
    if (groups.length === 0 && !escaped) return true;
    if (elapsed() >= limits.deadlineMs) return false;
    await ticks.sleep(LOOK_MS);
  }
}
