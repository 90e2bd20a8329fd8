import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FolderLock, FolderLocked } from '../../../src/platform/state/folder-lock.js';
import { compileProgram } from '../../support/foundation-process.js';

let program: string;
beforeAll(async () => {
  program = await compileProgram('test/support/lock-holder.ts');
});

let dir: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'office-lock-'));
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map(kill));
  rmSync(dir, { recursive: true });
});

describe('the lock of a folder', () => {
  it('refuses a second holder in the same process and names the first', async () => {
    const lock = await FolderLock.take(dir);
    await expect(FolderLock.take(dir)).rejects.toEqual(new FolderLocked(process.pid));
    await lock.release();
    await (await FolderLock.take(dir)).release();
  });

  it('refuses while its holder is frozen, and not one moment after it was killed', async () => {
    const [holder, said] = await contend();
    expect(said).toBe('held');
    holder.kill('SIGSTOP');
    await expect(FolderLock.take(dir)).rejects.toBeInstanceOf(FolderLocked);
    await kill(holder);
    await (await FolderLock.take(dir)).release();
  });

  it('lets exactly one of many processes take over from a dead one, and leaves one name', async () => {
    for (let round = 0; round < 4; round++) {
      const contenders = await Promise.all(Array.from({ length: 8 }, contend));
      const winners = contenders.filter(([, said]) => said === 'held');
      expect(winners).toHaveLength(1);
      expect(contenders.filter(([, said]) => said === 'refused')).toHaveLength(7);
      await kill(winners[0]![0]);
    }
    const lock = await FolderLock.take(dir);
    expect(readdirSync(dir)).toEqual(['lock.5']);
    await lock.release();
  });

  it('lets exactly one through however closely they race', async () => {
    for (let round = 0; round < 100; round++) {
      const results = await Promise.allSettled(Array.from({ length: 10 }, () => FolderLock.take(dir)));
      const locks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      expect(locks).toHaveLength(1);
      expect(refusals.every((reason) => reason instanceof FolderLocked)).toBe(true);
      await locks[0]!.release();
    }
  });

  it('works however long the path of the folder is', async () => {
    const deep = mkdtempSync(join(dir, 'x'.repeat(200)));
    const lock = await FolderLock.take(deep);
    await expect(FolderLock.take(deep)).rejects.toBeInstanceOf(FolderLocked);
    await lock.release();
  });
});

async function contend(): Promise<[ChildProcess, string]> {
  const child = spawn(process.execPath, [program, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return [child, said.toString().trim()];
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
