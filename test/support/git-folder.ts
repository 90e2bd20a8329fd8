import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Nobody's own settings: what a test does with git depends on nothing but the test. */
const BARE_ENV = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Pat',
  GIT_AUTHOR_EMAIL: 'pat@example.org',
  GIT_COMMITTER_NAME: 'Pat',
  GIT_COMMITTER_EMAIL: 'pat@example.org',
  GIT_ALLOW_PROTOCOL: 'file',
};

/** Git as a person or an agent in that folder would use it. Its output without the last line end. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { cwd: folder, env: BARE_ENV, maxBuffer: 64 * 1024 * 1024 });
  return stdout.replace(/\n$/, '');
}

export async function writeIn(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** Writes files and commits everything. Answers the commit. */
export async function commitIn(folder: string, files: Readonly<Record<string, string>>, message = 'Change'): Promise<string> {
  await writeIn(folder, files);
  await git(folder, 'add', '-A');
  await git(folder, 'commit', '-q', '--allow-empty', '-m', message);
  return git(folder, 'rev-parse', 'HEAD');
}

/** So many commits on this branch that change nothing, by one process. */
export async function emptyCommits(folder: string, branch: string, count: number): Promise<void> {
  const importing = run('git', ['fast-import', '--quiet', '--date-format=now'], { cwd: folder, env: BARE_ENV });
  const ref = `refs/heads/${branch}`;
  const commits = Array.from({ length: count }, (_, n) => {
    const from = n === 0 ? `from ${ref}^0\n` : '';
    return `commit ${ref}\ncommitter Pat <pat@example.org> now\ndata ${String(n).length}\n${n}\n${from}\n`;
  });
  importing.child.stdin!.end(commits.join(''));
  await importing;
}

/** A repository on `main` with one commit of these files. */
export async function aRepository(folder: string, files: Readonly<Record<string, string>> = { 'README.md': 'Doors\n' }): Promise<string> {
  await mkdir(folder, { recursive: true });
  await git(folder, 'init', '-q', '-b', 'main');
  await commitIn(folder, files, 'Begin');
  return folder;
}

export async function aProgram(path: string, script: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

/** A folder of its own, by its real path, and its removal. */
export async function aFolder(name: string): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), `office-${name}-`)));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}
