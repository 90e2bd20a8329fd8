import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { aRepository, commitIn, git } from './git-folder.js';

const PER_FOLDER = 100;

/** A repository of so many small files, in folders of a hundred. */
export async function aRepositoryOf(files: number, path: string): Promise<string> {
  await aRepository(path);
  for (let folder = 0; folder * PER_FOLDER < files; folder++) {
    await mkdir(join(path, `d${folder}`));
    const names = Array.from({ length: PER_FOLDER }, (_, n) => join(path, `d${folder}`, `f${n}.txt`));
    await Promise.all(names.map((name, n) => writeFile(name, `${folder} ${n} `.repeat(40))));
  }
  await commitIn(path, {}, 'Many files');
  return path;
}

/** Milliseconds that git alone takes to make a worktree. */
export async function gitAlone(repository: string, folder: string, branch: string): Promise<number> {
  const began = performance.now();
  await git(repository, 'worktree', 'add', '-q', '-b', branch, folder);
  return performance.now() - began;
}
