import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentTree } from '../process/agent-tree.js';
import type { RecordedTrees } from './supervisor-protocol.js';

/** Of the state dir: one file for each server process that had trees. */
export const recordFolder = (stateDir: string): string => join(stateDir, 'executions');

/** The same for as long as the machine is up, empty where it is not known. */
export function machineBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** The trees of one server process, on disk. Whole or not at all, by renaming. */
export class TreeRecord {
  private readonly boot = machineBoot();

  constructor(private readonly file: string) {}

  write(trees: readonly AgentTree[]): void {
    if (trees.length === 0) return this.remove();
    const record: RecordedTrees = { machineBoot: this.boot, trees };
    writeFileSync(`${this.file}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${this.file}.new`, this.file);
  }

  remove(): void {
    rmSync(this.file, { force: true });
  }
}

/** A path for a new record; its folder exists afterwards. */
export function newRecordFile(stateDir: string, name: string): string {
  mkdirSync(recordFolder(stateDir), { recursive: true, mode: 0o700 });
  return join(recordFolder(stateDir), `${name}.json`);
}

/** Every record in the folder, with those that cannot be read as empty. */
export function readRecords(stateDir: string): { file: string; record: RecordedTrees }[] {
  let names: string[];
  try {
    names = readdirSync(recordFolder(stateDir));
  } catch {
    return [];
  }
  return names.map((name) => {
    const file = join(recordFolder(stateDir), name);
    return { file, record: readRecord(file) };
  });
}

function readRecord(file: string): RecordedTrees {
  try {
    const { machineBoot: boot, trees } = JSON.parse(readFileSync(file, 'utf8')) as Partial<RecordedTrees>;
    return { machineBoot: String(boot), trees: Array.isArray(trees) ? trees.filter(isTree) : [] };
  } catch {
    return { machineBoot: '', trees: [] };
  }
}

const isTree = (value: unknown): value is AgentTree => {
  const { executionId, group, startTicks } = (value ?? {}) as Partial<AgentTree>;
  const known = startTicks === null || Number.isSafeInteger(startTicks);
  return typeof executionId === 'string' && executionId !== '' && Number.isSafeInteger(group) && group! > 1 && known;
};
