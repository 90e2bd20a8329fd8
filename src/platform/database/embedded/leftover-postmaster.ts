import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock/clock.js';
import { StartError } from '../../errors/start-error.js';
import { clusterMark } from './postgres-cluster.js';
import { runToEnd } from './run-to-end.js';

interface LockFile {
  readonly path: string;
  readonly pid: number;
  /** Key and id of the shared memory that every process of the cluster is attached to. */
  readonly sharedMemory: string | undefined;
}

/**
 * Stops the postmaster that a killed office left on this cluster. Nobody else has business here: the data dir is locked.
 * Also takes away a lock file that PostgreSQL would stumble over for ever, because its number is another process's by now
 * (numbers start anew in every container) or that of a dead one nobody collects.
 */
export async function stopLeftover(clusterDir: string, clock: Clock): Promise<void> {
  const lock = await readLock(join(clusterDir, 'postmaster.pid'));
  if (lock === null || (await stateOf(lock.pid)) === 'gone') return;
  const commandLine = await commandLineOf(lock.pid);
  if (commandLine !== null && /^\S*postgres\s/.test(commandLine)) {
    if (!commandLine.includes(await clusterMark(clusterDir))) {
      throw new StartError(`A PostgreSQL that is not ours (process ${lock.pid}) seems to run on ${clusterDir}. Stop it first.`);
    }
    if (!(await stop(lock.pid, clock))) throw new StartError(`The PostgreSQL left on ${clusterDir} (process ${lock.pid}) does not stop.`);
  }
  await discard(lock, clock);
}

/** Fast, then hard. True when it is gone. */
async function stop(pid: number, clock: Clock): Promise<boolean> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    send(pid, signal);
    for (const since = clock.monotonicMs(); clock.monotonicMs() - since < 5_000; await clock.sleep(20)) {
      if ((await stateOf(pid)) !== 'alive') return true;
    }
  }
  return false;
}

/** Removes the lock file once nobody is attached to the cluster's memory: the check PostgreSQL itself goes by. Else it judges. */
async function discard(lock: LockFile, clock: Clock): Promise<void> {
  for (const since = clock.monotonicMs(); clock.monotonicMs() - since < 5_000; await clock.sleep(50)) {
    const current = await readLock(lock.path);
    if (current?.pid !== lock.pid || (await stateOf(lock.pid)) === 'gone') return;
    const attached = await attachedTo(lock.sharedMemory);
    if (attached === null) return;
    if (attached === 0) return rm(lock.path, { force: true });
  }
}

async function readLock(path: string): Promise<LockFile | null> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 1 ? { path, pid, sharedMemory: lines[6]?.trim().replace(/\s+/, ' ') } : null;
}

/** `ended`: dead, but whoever should have collected it has not. */
async function stateOf(pid: number): Promise<'alive' | 'ended' | 'gone'> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return 'gone';
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')')).startsWith(') Z') ? 'ended' : 'alive';
}

/** How many processes are attached; null where the system does not tell. */
async function attachedTo(sharedMemory: string | undefined): Promise<number | null> {
  const table = await readFile('/proc/sysvipc/shm', 'utf8').catch(() => null);
  if (table === null || !sharedMemory) return null;
  // key, id, permissions, size, creator, last user, how many are attached
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const row = rows.find(([key, id]) => `${key} ${id}` === sharedMemory);
  return row === undefined ? 0 : Number(row[6]);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Null when it cannot be read, or has ended. */
async function commandLineOf(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return raw === '' ? null : raw.replaceAll('\0', ' ');
  }
  const { code, stdout } = await runToEnd('ps', ['-o', 'args=', '-p', String(pid)], { account: null, deadlineMs: 10_000 });
  return code === 0 && stdout.trim() !== '' ? stdout.trim() : null;
}
