import { Injectable } from '@nestjs/common';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Git, GitFailure, NO_ANSWER, type GitAsk, type OpenRepository } from '../repositories/git.service.js';
import type { FoundRepository } from '../repositories/repository-inspector.service.js';
import { readGitlinks, readStatus, type Uncommitted } from './domain/git-answers.js';
import { adminOf, tipOf } from './worktree-maker.service.js';
import type { Holdings, WorktreeRow } from './worktree.repository.js';

const LOOK: GitAsk = { deadlineMs: 30_000 };
const INDEX: GitAsk = { deadlineMs: 30_000, maxBytes: 32 * 1024 * 1024 };
const STATUS_BYTES = 1024 * 1024;
const STATUS = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=normal', '--ignore-submodules=dirty'];

/** Files and folders that git keeps while something is in the middle of being done. */
const UNDER_WAY = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'BISECT_LOG', 'rebase-merge', 'rebase-apply', 'modules'];

export interface Looked extends Holdings {
  /** The commit its branch ends with; null: the branch is gone. */
  readonly tip: string | null;
}

/** Looks into worktrees, for what would be lost with them. Changes nothing. */
@Injectable()
export class WorktreeInspector {
  constructor(private readonly git: Git) {}

  /**
   * The worktree, ready for commands; null when it is not there: no folder, or an empty one. What the folder says of itself is not believed:
   * agents write there.
   * @throws GitFailure when the repository knows nothing of it, or something broke it.
   */
  async open({ own, common }: FoundRepository, folder: string): Promise<OpenRepository | null> {
    if (!(await isFilled(folder))) return null;
    const gitDir = adminOf(common, folder);
    const place = { ...own.place, gitDir, workTree: folder };
    const [worktree, shared] = await Promise.all([this.git.open(place), this.git.commonDirOf(place)]);
    if (shared !== common) {
      const answer = { ...NO_ANSWER, said: 'it belongs to another repository' };
      throw new GitFailure('git knows nothing of the worktree', answer);
    }
    return worktree;
  }

  /** What is in it that is nowhere else. Files that are ignored do not count. */
  async lookInto(worktree: OpenRepository, row: WorktreeRow): Promise<Looked> {
    const [status, underWay, tip] = await Promise.all([this.uncommitted(worktree), this.underWay(worktree), tipOf(worktree, row.branch!)]);
    return { uncommitted: status.list.length + underWay, unpushed: await this.unpushed(worktree, row, tip), tip };
  }

  /** What is not committed; `cut`: and more. */
  async uncommitted(worktree: OpenRepository): Promise<{ list: Uncommitted[]; cut: boolean }> {
    const answer = await worktree.ask(STATUS, { ...LOOK, maxBytes: STATUS_BYTES });
    if (!answer.cut && answer.code !== 0) throw new GitFailure('the state of the worktree could not be read', answer);
    const list = readStatus(answer.stdout.toString('utf8'));
    return answer.cut ? { list: list.slice(0, -1), cut: true } : { list, cut: false };
  }

  /** Commits of the worktree and of its branch that are neither on a remote nor in another branch. */
  private async unpushed(worktree: OpenRepository, row: WorktreeRow, tip: string | null): Promise<number> {
    const on = await worktree.ask(['symbolic-ref', '-q', 'HEAD'], LOOK);
    const own = new Set([`refs/heads/${row.branch!}`, ...(on.code === 0 ? [on.stdout.toString('utf8').trim()] : [])]);
    const head = await worktree.ask(['rev-parse', '--verify', '-q', 'HEAD^{commit}'], LOOK);
    const from = [...(head.code === 0 ? [head.stdout.toString('utf8').trim()] : []), ...(tip === null ? [] : [tip])];
    if (from.length === 0) return 0;
    const elsewhere = [
      ...[...own].map((name) => `--exclude=${name.replace('refs/heads/', '')}`),
      '--branches',
      '--remotes',
      ...[row.base_commit, row.pushed_commit].filter((commit) => commit !== null),
    ];
    const count = await worktree.line('the commits could not be counted', ['rev-list', '--count', ...from, '--not', ...elsewhere], LOOK);
    return Number(count);
  }

  /** Merges and the like in their middle, and other repositories inside, whose state nobody has looked at. */
  private async underWay(worktree: OpenRepository): Promise<number> {
    const { gitDir, workTree } = worktree.place;
    const links = readGitlinks(
      (await worktree.must('the files of the worktree could not be read', ['ls-files', '--stage', '-z'], INDEX)).toString('utf8'),
    );
    const places = [...UNDER_WAY.map((name) => join(gitDir, name)), ...links.map((path) => join(workTree!, path, '.git'))];
    const there = await Promise.all(places.map((path) => lstat(path).catch(() => null)));
    return there.filter((one) => one !== null).length;
  }
}

export async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() === true;
}

/** An empty folder in its place is none. One without its `.git` is: what agents remove does not hide what they leave. */
async function isFilled(folder: string): Promise<boolean> {
  return (await isFolder(folder)) && (await readdir(folder)).length > 0;
}
