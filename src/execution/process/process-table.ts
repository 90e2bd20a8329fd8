import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { EXECUTION_MARKER } from '../domain/agent-environment.js';

/** One line of the system's process table. `startTicks` and `pid` together name a process for good. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly state: string;
  readonly startTicks: number;
}

/** Reading /proc never waits for a disk: at once is a quarter of the work, and this many at a time is a millisecond. */
const AT_ONCE = 64;
/** One stat line is far shorter. */
const line = Buffer.alloc(2048);

/**
 * Reads /proc. Where there is none (macOS) no process is listed and no start is known: process groups are still ended,
 * but what left its group is not found.
 */
export function readProcess(pid: number): ProcessRow | null {
  let descriptor: number;
  try {
    descriptor = openSync(`/proc/${pid}/stat`, 'r');
  } catch {
    return null;
  }
  try {
    return parseStat(pid, line.toString('latin1', 0, readSync(descriptor, line, 0, line.length, 0)));
  } catch {
    // It has ended since.
    return null;
  } finally {
    closeSync(descriptor);
  }
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
  const rows = await inBatches(pids(), readProcess);
  return rows.filter((row) => row !== null);
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
  const rows = await inBatches(pids(), (pid) => {
    const row = readProcess(pid);
    if (row === null || !isAlive(row) || row.startTicks < sinceTicks || pid === process.pid) return null;
    const executionId = markerOf(pid);
    return executionId !== null && executionIds.has(executionId) ? row : null;
  });
  return rows.filter((row) => row !== null);
}

function markerOf(pid: number): string | null {
  const environment = `\0${readEnvironment(pid)}`;
  const name = `\0${EXECUTION_MARKER}=`;
  const at = environment.indexOf(name);
  if (at < 0) return null;
  const end = environment.indexOf('\0', at + name.length);
  return environment.slice(at + name.length, end < 0 ? undefined : end);
}

function pids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Empty when the process has gone, or is none of ours to read. */
function readEnvironment(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

async function inBatches<In, Out>(items: readonly In[], work: (item: In) => Out): Promise<Out[]> {
  const done: Out[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    done.push(...items.slice(from, from + AT_ONCE).map(work));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return done;
}
