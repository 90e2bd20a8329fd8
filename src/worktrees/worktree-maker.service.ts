import { Injectable } from '@nestjs/common';
import { lstat, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Git, GitFailure, type GitAsk, type OpenRepository } from '../repositories/git.service.js';
import type { WorkspaceAccount } from '../repositories/workspace-accounts.js';
import type { FoundRepository } from '../repositories/repository-inspector.service.js';
import { branchFor, likelyBase } from './domain/branch-name.js';
import type { WorktreePlan } from './worktree.repository.js';

const LOOK: GitAsk = { deadlineMs: 20_000 };
const MAKE_MS = 300_000;
const REMOVE_MS = 120_000;

/** Each line is appended by one write, so that two at once cost a line twice at most. */
const ADD_MISSING_LINES = `
file=$1/exclude; shift
mkdir -p "\${file%/*}" && touch "$file" || exit
[ -z "$(tail -c 1 "$file")" ] || echo >> "$file"
for line; do grep -qxF -e "$line" "$file" || printf '%s\\n' "$line" >> "$file" || exit; done`;

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
  async make(found: FoundRepository, plan: WorktreePlan, folder: string, again: boolean, signal: AbortSignal): Promise<'made' | 'taken'> {
    const { own } = found;
    await this.clear(found, plan.branch, folder, signal);
    const tip = again ? await tipOf(own, plan.branch) : null;
    if (tip !== null && tip !== plan.baseCommit) return 'taken';
    await this.makeParent(own, folder);
    const which = tip === null ? ['--no-track', '-b', plan.branch, folder, plan.baseCommit] : [folder, plan.branch];
    const answer = await own.ask(['worktree', 'add', ...which], { deadlineMs: MAKE_MS, writes: true, signal });
    if (answer.code === 0) return 'made';
    if (tip === null && /a branch named .* already exists/.test(answer.said)) return 'taken';
    throw new GitFailure('the worktree could not be made', answer);
  }

  /** A folder that is gone, on the branch it had. False: the branch is gone too. */
  async makeAgain(found: FoundRepository, branch: string, folder: string, signal: AbortSignal): Promise<boolean> {
    await this.clear(found, branch, folder, signal);
    if ((await tipOf(found.own, branch)) === null) return false;
    await this.makeParent(found.own, folder);
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
    await this.moveAway(own.place.account, folder);
    await this.erase(own, [leaving(folder), adminOf(common, folder)]);
    if (tip !== null) {
      const asked = { deadlineMs: REMOVE_MS, writes: true };
      const gone = await own.ask(['update-ref', '-d', `refs/heads/${branch}`, tip], asked);
      if (gone.code !== 0 && (await tipOf(own, branch)) === tip) throw new GitFailure('the branch could not be removed', gone);
    }
  }

  /** The folder alone, where there is no repository any more. */
  async removeFolder(account: WorkspaceAccount, folder: string): Promise<void> {
    await this.moveAway(account, folder);
    const answer = await this.git.program('rm', ['-rf', '--', leaving(folder)], account, { deadlineMs: REMOVE_MS, writes: true });
    if (answer.code !== 0) throw new GitFailure('the folder could not be removed', answer);
  }

  /** Adds lines to `info/exclude` that are not there yet. By a program of that user: what it writes through is the user's own. */
  async exclude({ own, common }: FoundRepository, patterns: readonly string[]): Promise<void> {
    if (patterns.some((pattern) => /[\n\0]/.test(pattern))) throw new Error('a pattern of several lines');
    const args = ['-c', ADD_MISSING_LINES, 'exclude', join(common, 'info'), ...patterns];
    const answer = await this.git.program('sh', args, own.place.account, { ...LOOK, writes: true });
    if (answer.code !== 0) throw new GitFailure('files of the office could not be excluded', answer);
  }

  private async moveAway(account: WorkspaceAccount, folder: string): Promise<void> {
    if ((await lstat(folder).catch(() => null)) === null) return;
    const asked = { deadlineMs: REMOVE_MS, writes: true };
    const cleared = await this.git.program('rm', ['-rf', '--', leaving(folder)], account, asked);
    const moved = cleared.code === 0 ? await this.git.program('mv', ['--', folder, leaving(folder)], account, asked) : cleared;
    if (moved.code !== 0) throw new GitFailure('the folder could not be removed', moved);
  }

  private async clear({ own, common }: FoundRepository, branch: string, folder: string, signal: AbortSignal): Promise<void> {
    const remains = [folder, adminOf(common, folder), join(common, 'refs', 'heads', `${branch}.lock`)];
    const found = await Promise.all(remains.map((path) => lstat(path).catch(() => null)));
    const left = remains.filter((_, index) => found[index] !== null);
    if (left.length > 0) await this.erase(own, left, signal);
  }

  private async erase(own: OpenRepository, paths: readonly string[], signal?: AbortSignal): Promise<void> {
    const asked = { deadlineMs: REMOVE_MS, writes: true, signal };
    const answer = await this.git.program('rm', ['-rf', '--', ...paths], own.place.account, asked);
    if (answer.code !== 0) throw new GitFailure('the worktree could not be cleared away', answer);
  }

  private async makeParent(own: OpenRepository, folder: string): Promise<void> {
    const { account } = own.place;
    const parent = dirname(folder);
    if (account.identity === null) {
      await mkdir(parent, { recursive: true, mode: 0o700 });
      return;
    }
    const answer = await this.git.program('mkdir', ['-p', '-m', '700', '--', parent], account, { ...LOOK, writes: true });
    if (answer.code !== 0) throw new GitFailure('the folder for worktrees could not be made', answer);
  }

  /** HEAD names a branch without a commit: another branch then, or, in a repository without any, a beginning of our own. */
  private async baseWithoutHead(own: OpenRepository): Promise<Omit<WorktreePlan, 'branch'>> {
    const names = (await branches(own, ['refs/heads/'])).filter((name) => name !== 'office' && !/^office[/-]/.test(name));
    const likely = likelyBase(names);
    if (likely !== null) return { baseBranch: likely, baseCommit: (await tipOf(own, likely))! };
    if (names.length > 0) {
      const answer = { code: null, stdout: Buffer.alloc(0), cut: false, late: false, said: 'its HEAD names a branch that does not exist' };
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
