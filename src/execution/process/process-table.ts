import { readdir, readFile } from 'node:fs/promises';
import { EXECUTION_MARKER } from '../domain/agent-environment.js';

/** One line of the system's process table. `startTicks` and `pid` together name a process for good. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly state: string;
  readonly startTicks: number;
}

const AT_ONCE = 32;

/**
 * Reads /proc. Where there is none (macOS) no process is listed and no start is known: process groups are still ended,
 * but what left its group is not found.
 */
export async function readProcess(pid: number): Promise<ProcessRow | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null);
  return stat === null ? null : parseStat(pid, stat);
}

/** The program's name stands in parentheses and may contain any character, so that the fields begin after the last one. */
export function parseStat(pid: number, stat: string): ProcessRow | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group] = fields;
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return null;
  return { pid, parent: Number(parent), group: Number(group), state, startTicks: Number(startTicks) };
}

export async function listProcesses(): Promise<ProcessRow[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  return (await inBatches(pids, readProcess)).filter((row) => row !== null);
}

export const isAlive = (row: ProcessRow): boolean => row.state !== 'Z' && row.state !== 'X';

/** All that descend from `roots`, as far as the chain of parents is unbroken. */
export function descendantsOf(roots: ReadonlySet<number>, table: readonly ProcessRow[]): ProcessRow[] {
  const family = new Set(roots);
  const found: ProcessRow[] = [];
  for (let grown = true; grown;) {
    const more = table.filter((row) => !family.has(row.pid) && family.has(row.parent));
    for (const row of more) family.add(row.pid);
    found.push(...more);
    grown = more.length > 0;
  }
  return found;
}

/**
 * Live processes that carry the marker of one of these executions in the environment they were started with. None of
 * them is older than `sinceTicks`, the start of the oldest leader, which spares reading most environments.
 */
export async function markedProcesses(executionIds: ReadonlySet<string>, sinceTicks: number): Promise<ProcessRow[]> {
  const young = (await listProcesses()).filter((row) => isAlive(row) && row.startTicks >= sinceTicks && row.pid !== process.pid);
  const marked = await inBatches(young, async (row) => {
    const executionId = await markerOf(row.pid);
    return executionId !== null && executionIds.has(executionId);
  });
  return young.filter((_row, place) => marked[place]);
}

async function markerOf(pid: number): Promise<string | null> {
  const environment = `\0${await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')}`;
  const name = `\0${EXECUTION_MARKER}=`;
  const at = environment.indexOf(name);
  if (at < 0) return null;
  const end = environment.indexOf('\0', at + name.length);
  return environment.slice(at + name.length, end < 0 ? undefined : end);
}

async function inBatches<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    done.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return done;
}
