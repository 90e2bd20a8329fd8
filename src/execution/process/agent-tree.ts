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
function isRecorded(tree: AgentTree, mode: 'strict' | 'lax'): boolean {
  const leader = readProcess(tree.group);
  if (leader !== null) return tree.startTicks === null ? mode === 'lax' : leader.startTicks === tree.startTicks;
  return mode === 'lax';
}

/** What belongs to these trees wherever it is: by its marker, or because it descended from a leader when we last looked. */
export class Relatives {
  private readonly seen = new Map<number, ProcessRow>();

  constructor(private readonly trees: readonly AgentTree[]) {}

  /**
   * Remembers who descends from these leaders now; once they have ended, the chain of parents is broken. Only for leaders
   * that are known to be ours at this moment: the family of another process that got the pid would die for it.
   */
  async look(leaders: readonly number[]): Promise<void> {
    for (const row of descendantsOf(new Set(leaders), await listProcesses())) this.seen.set(row.pid, row);
  }

  /** All that live, as of now. */
  async find(): Promise<ProcessRow[]> {
    const since = Math.min(...this.trees.map(({ startTicks }) => startTicks ?? 0));
    const found = await markedProcesses(new Set(this.trees.map(({ executionId }) => executionId)), since);
    for (const row of this.seen.values()) {
      const now = readProcess(row.pid);
      if (now?.startTicks === row.startTicks && isAlive(now)) found.push(now);
      else this.seen.delete(row.pid);
    }
    return found;
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
  const relatives = new Relatives(trees);
  let groups = trees.filter((tree) => isRecorded(tree, limits.mode)).map(({ group }) => group);
  await relatives.look(groups);
  for (const group of groups) terminateGroup(group);
  while (groups.length > 0 && elapsed() < limits.termMs) {
    await ticks.sleep(LOOK_MS);
    groups = await livingGroups(groups);
  }
  for (;;) {
    for (const group of groups) signalGroup(group, 'SIGKILL');
    const others = await relatives.kill();
    groups = await livingGroups(groups);
    if (groups.length === 0 && !others) return true;
    if (elapsed() >= limits.deadlineMs) return false;
    await ticks.sleep(LOOK_MS);
  }
}
