import { Injectable } from '@nestjs/common';
import { OfficeError } from '../platform/errors/office-error.js';
import type { GitAnswer, GitAsk } from '../repositories/git.service.js';
import type { FoundRepository } from '../repositories/repository-inspector.service.js';
import { tipOf } from './worktree-maker.service.js';
import type { PushedView } from './worktree.view.js';

const LOOK: GitAsk = { deadlineMs: 20_000, credentials: true };
const PUSH_MS = 120_000;

/** On this machine, the other side is a program of ours too, and runs no hooks either. */
const LOCAL_SIDE = 'git -c core.hooksPath=/dev/null receive-pack';

/** Brings the branch of a task to a remote, never by force. */
@Injectable()
export class WorktreePush {
  /** @throws OfficeError `push_failed` with what git said */
  async push({ own }: FoundRepository, branch: string, remote: string): Promise<PushedView> {
    const commit = await tipOf(own, branch);
    if (commit === null) throw new OfficeError('worktree_unusable', { problem: `its branch ${branch} is gone` });
    const urls = await own.ask(['remote', 'get-url', '--push', '--all', remote], LOOK);
    const [url, ...others] = urls.stdout
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '');
    if (urls.code !== 0 || url === undefined) throw failed(`the repository has no remote ${remote}`);
    if (others.length > 0) throw failed(`the remote ${remote} has several addresses`);
    const side = isLocal(url) ? LOCAL_SIDE : 'git-receive-pack';
    // The commit, not the name: what was looked at is what is pushed.
    const args = ['push', '--porcelain', '--no-verify', '--no-follow-tags', '--recurse-submodules=no', '--signed=false'];
    const refspec = `${commit}:refs/heads/${branch}`;
    const answer = await own.ask([...args, `--receive-pack=${side}`, remote, refspec], {
      deadlineMs: PUSH_MS,
      writes: true,
      credentials: true,
    });
    if (answer.code !== 0) throw failed(reasonOf(answer));
    return { remote, branch, commit };
  }
}

const isLocal = (url: string): boolean => url.startsWith('/') || url.startsWith('.') || url.startsWith('file:');

function reasonOf({ late, said, stdout }: GitAnswer): string {
  if (late) return `it did not end within ${PUSH_MS / 1000} s`;
  const refused = stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.split('\t').slice(2).join(' '));
  return [...refused, said].filter((part) => part !== '').join('\n');
}

const failed = (problem: string): OfficeError => new OfficeError('push_failed', { problem });
