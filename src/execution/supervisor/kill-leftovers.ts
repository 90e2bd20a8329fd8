import type { Clock } from '../../platform/clock/clock.js';
import { endTrees } from '../process/agent-tree.js';
import { machineBoot, readRecords } from './tree-record.js';
import { rmSync } from 'node:fs';

/**
 * Ends whatever an earlier server process on this state dir left running because it and its supervisor were both killed.
 * Call it at boot, with the data dir locked and before anything is launched. Safe against pids used again: a group must
 * still have the leader that was recorded, a process the marker of its execution. Resolves to the executions looked for,
 * and rejects when something survived SIGKILL for 5 s.
 */
export async function killLeftovers(stateDir: string, clock: Clock): Promise<string[]> {
  const records = readRecords(stateDir);
  const boot = machineBoot();
  const trees = records.filter(({ record }) => record.machineBoot === boot).flatMap(({ record }) => record.trees);
  if (trees.length > 0 && !(await endTrees(trees, clock, { termMs: 500, deadlineMs: 5_000, mode: 'strict' }))) {
    throw new Error(`agents of an earlier start do not end: ${trees.map(({ group }) => group).join(', ')}`);
  }
  for (const { file } of records) rmSync(file, { force: true });
  return trees.map(({ executionId }) => executionId);
}
