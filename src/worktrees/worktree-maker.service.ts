import { Injectable } from '@nestjs/common';
import { lchown, lstat, mkdir, rename, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Git, GitFailure, NO_ANSWER, type GitAnswer, type GitAsk, type OpenRepository } from '../repositories/git.service.js';
import type { AgentUser } from '../workspaces/agent-users.service.js';
import type { FoundRepository } from '../repositories/repository-inspector.service.js';
import { branchFor, likelyBase } from './domain/branch-name.js';
import type { WorktreePlan } from './worktree.repository.js';

const LOOK: GitAsk = { deadlineMs: 20_000 };
const MAKE_MS = 300_000;
const REMOVE_MS = 120_000;
const HALF_MADE = /failed to read .*commondir/;
const MOST_MET = 5;

/** The first commit of a repository that has none: the same every time, so that branches which begin with it belong together. */
const BEGINNING = {
  GIT_AUTHOR_NAME: 'Agent Office',
  GIT_AUTHOR_EMAIL: 'agent-office@localhost',
  GIT_AUTHOR_DATE: '@0 +0000',
  GIT_COMMITTER_NAME: 'Agent Office',
  GIT_COMMITTER_EMAIL: 'agent-office@localhost',
  GIT_COMMITTER_DATE: '@0 +0000',
};

/** Worktrees on the disk: made, made anew after a crash in the middle, and taken away. */
@Injectable()
export class WorktreeMaker {
  constructor(private readonly git: Git) {}

  /** What a task's worktree would be made of now: a free branch, and where the repository stands. */
  async plan({ own }: FoundRepository, identifier: string): Promise<WorktreePlan> {
    const [head, headBranch, ours] = await Promise.all([
      own.ask(['rev-parse', '--verify', '-q', 'HEAD^{commit}'], LOOK),
      own.ask(['symbolic-ref', '-q', '--short', 'HEAD'], LOOK),
      branches(own, ['refs/heads/office', 'refs/heads/office-*', 'refs/heads/office-*/**']),
    ]);
    const branch = branchFor(identifier, ours);
    if (head.code === 0) {
      const named = headBranch.code === 0 ? headBranch.stdout.toString('utf8').trim() : null;
      return { branch, baseBranch: named, baseCommit: head.stdout.toString('utf8').trim() };
    }
    if (head.code !== 1) throw new GitFailure('the base of the repository could not be read', head);
    return { branch, ...(await this.baseWithoutHead(own)) };
  }

  /**
   * The branch and the worktree of a plan. Whatever an attempt that died in the middle has left is cleared away first:
   * nobody has worked in a worktree before it was noted as made. `again`: the plan is that of an earlier attempt, which may
   * have made the branch. `taken`: somebody else has made a branch of that name since.
   * @throws GitFailure
   */
  make(found: FoundRepository, plan: WorktreePlan, folder: string, again: boolean, signal: AbortSignal): Promise<'made' | 'taken'> {
    return pastOthers((once) => this.makeOnce(found, plan, folder, again || !once, signal));
  }

  private async makeOnce(
    found: FoundRepository,
    plan: WorktreePlan,
    folder: string,
    again: boolean,
    signal: AbortSignal,
  ): Promise<'made' | 'taken'> {
    const { own } = found;
    await this.clear(found, plan.branch, folder, signal);
    const tip = again ? await tipOf(own, plan.branch) : null;
    if (tip !== null && tip !== plan.baseCommit) return 'taken';
    await makeEmpty(own.place.account, folder);
    const which = tip === null ? ['--no-track', '-b', plan.branch, folder, plan.baseCommit] : [folder, plan.branch];
    const answer = await own.ask(['worktree', 'add', ...which], { deadlineMs: MAKE_MS, writes: true, signal });
    if (answer.code === 0) return 'made';
    if (tip === null && /a branch named .* already exists/.test(answer.said)) return 'taken';
    throw new GitFailure('the worktree could not be made', answer);
  }

  /** A folder that is gone, on the branch it had. False: the branch is gone too. */
  makeAgain(found: FoundRepository, branch: string, folder: string, signal: AbortSignal): Promise<boolean> {
    return pastOthers(() => this.makeAgainOnce(found, branch, folder, signal));
  }

  private async makeAgainOnce(found: FoundRepository, branch: string, folder: string, signal: AbortSignal): Promise<boolean> {
    await this.clear(found, branch, folder, signal);
    if ((await tipOf(found.own, branch)) === null) return false;
    await makeEmpty(found.own.place.account, folder);
    await found.own.must('the worktree could not be made', ['worktree', 'add', folder, branch], {
      deadlineMs: MAKE_MS,
      writes: true,
      signal,
    });
    return true;
  }

  /**
   * The folder and what git knows of it. The folder leaves its place in one step, so that it is never found there in parts.
   * Its branch goes too if it still ends with `tip`; null: it stays.
   */
  async remove({ own, common }: FoundRepository, branch: string, folder: string, tip: string | null): Promise<void> {
    await this.removeFolder(own.place.account, folder);
    await this.erase(own.place.account, adminOf(common, folder));
    if (tip !== null) {
      const asked = { deadlineMs: REMOVE_MS, writes: true };
      const gone = await own.ask(['update-ref', '-d', `refs/heads/${branch}`, tip], asked);
      if (gone.code !== 0 && (await tipOf(own, branch)) === tip) throw new GitFailure('the branch could not be removed', gone);
    }
  }

  /** The folder alone, where there is no repository any more. */
  async removeFolder(account: AgentUser, folder: string): Promise<void> {
    const away = leaving(folder);
    if (await isThere(folder)) {
      await this.eraseFolder(account, away);
      await rename(folder, away);
    }
    await this.eraseFolder(account, away);
  }

  private async clear({ own, common }: FoundRepository, branch: string, folder: string, signal: AbortSignal): Promise<void> {
    const { account } = own.place;
    await this.eraseFolder(account, folder, signal);
    await this.erase(account, adminOf(common, folder), signal);
    await this.erase(account, join(common, 'refs', 'heads', `${branch}.lock`), signal);
  }

  /** What agents have written is removed by their own user; the folder itself lies in one of the office's, who removes it. */
  private async eraseFolder(account: AgentUser, folder: string, signal?: AbortSignal): Promise<void> {
    if (!(await isThere(folder))) return;
    const answer = await this.removeTree(account, folder, signal);
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw new GitFailure('the folder could not be removed', answer);
    });
  }

  private async erase(account: AgentUser, path: string, signal?: AbortSignal): Promise<void> {
    if (!(await isThere(path))) return;
    const answer = await this.removeTree(account, path, signal);
    if (answer.code !== 0) throw new GitFailure('what git keeps of the worktree could not be removed', answer);
  }

  private removeTree(account: AgentUser, path: string, signal?: AbortSignal): Promise<GitAnswer> {
    return this.git.program('rm', ['-rf', '--', path], account, { deadlineMs: REMOVE_MS, writes: true, signal });
  }

  /** HEAD names a branch without a commit: another branch then, or, in a repository without any, a beginning of our own. */
  private async baseWithoutHead(own: OpenRepository): Promise<Omit<WorktreePlan, 'branch'>> {
    const names = (await branches(own, ['refs/heads/'])).filter((name) => name !== 'office' && !/^office[/-]/.test(name));
    const likely = likelyBase(names);
    if (likely !== null) return { baseBranch: likely, baseCommit: (await tipOf(own, likely))! };
    if (names.length > 0) {
      const answer = { ...NO_ANSWER, said: 'its HEAD names a branch that does not exist' };
      throw new GitFailure('the base of the repository is not to be told', answer);
    }
    const writing: GitAsk = { ...LOOK, writes: true, env: BEGINNING };
    const tree = await own.line('the first commit could not be made', ['mktree'], writing);
    return {
      baseBranch: null,
      baseCommit: await own.line('the first commit could not be made', ['commit-tree', tree, '-m', 'Begin'], writing),
    };
  }
}

/**
 * Before git makes a worktree it looks at all that are there, and dies of one that another git is making at that moment: its files are
 * there and empty still. So it is asked again, a few times; what stays so is a failure like any other. `once`: the first time.
 */
async function pastOthers<T>(make: (once: boolean) => Promise<T>): Promise<T> {
  for (let met = 0; ; met++) {
    try {
      return await make(met === 0);
    } catch (error) {
      if (met === MOST_MET || !(error instanceof GitFailure) || !HALF_MADE.test(error.answer.said)) throw error;
    }
  }
}

/** By the office itself: the folders above are its own, so that nobody can put something else in their place. */
async function makeEmpty({ identity }: AgentUser, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (identity !== null) await lchown(folder, identity.uid, identity.gid);
}

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null)) !== null;

const leaving = (folder: string): string => `${folder}.leaving`;

/** What git keeps of a worktree is named after its folder, and that after its task. */
export const adminOf = (common: string, folder: string): string => join(common, 'worktrees', basename(folder));

/** The commit a branch ends with; null: there is no such branch. */
export async function tipOf(repository: OpenRepository, branch: string): Promise<string | null> {
  const answer = await repository.ask(['rev-parse', '--verify', '-q', `refs/heads/${branch}^{commit}`], LOOK);
  if (answer.code === 0) return answer.stdout.toString('utf8').trim();
  if (answer.code === 1) return null;
  throw new GitFailure('the branch could not be read', answer);
}

async function branches(own: OpenRepository, patterns: readonly string[]): Promise<string[]> {
  const listed = await own.must('the branches could not be read', ['for-each-ref', '--format=%(refname:lstrip=2)', ...patterns], LOOK);
  return listed
    .toString('utf8')
    .split('\n')
    .filter((name) => name !== '');
}
