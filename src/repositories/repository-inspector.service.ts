import { Injectable } from '@nestjs/common';
import { lstat, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { objectionTo, type Surroundings } from './domain/repository-place.js';
import { Git, GitFailure, type OpenRepository } from './git.service.js';
import type { AgentUser } from '../workspaces/agent-users.service.js';

const LOOK_MS = 10_000;

/** There is no repository to work with at that path. `problem` is for people. */
export class RepositoryUnusable extends Error {
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path}: ${problem}`);
    this.name = 'RepositoryUnusable';
  }
}

/** A repository as it was found: `own` is where its HEAD is, `common` the folder all of its worktrees share. */
export interface FoundRepository {
  readonly own: OpenRepository;
  readonly common: string;
}

/** Looks at repositories on this host's disk; nothing of what is found is run, nothing is looked for outside of the path. */
@Injectable()
export class RepositoryInspector {
  constructor(
    private readonly git: Git,
    private readonly settings: OfficeSettings,
  ) {}

  /**
   * The repository at a path, ready for commands. The path has to be its real one and the top of the repository, and all of
   * the repository has to be where repositories may be, now as when it was registered.
   * @throws RepositoryUnusable
   */
  async open(path: string, account: AgentUser): Promise<FoundRepository> {
    const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
      throw new RepositoryUnusable(path, error.code === 'ENOENT' ? 'there is nothing at this path' : `it cannot be read (${error.code})`);
    });
    if (real !== path) throw new RepositoryUnusable(path, `a symbolic link leads elsewhere, to ${real}`);
    const around = await this.surroundings();
    this.assertAllowed(path, path, around);
    const inside = await lstat(join(path, '.git')).catch(() => null);
    const gitDir = inside === null ? path : join(path, '.git');
    try {
      const place = { gitDir, account };
      const [repository, said] = await Promise.all([this.git.open(place), this.git.commonDirOf(place)]);
      // `.git` may be a link, or name another place.
      const common = await realpath(said);
      const objection = objectionTo(common, around);
      if (objection !== null) throw new RepositoryUnusable(path, `of its git folder: ${objection}`);
      return { own: repository, common };
    } catch (error) {
      if (error instanceof GitFailure) throw new RepositoryUnusable(path, `git does not take it for a repository: ${error.message}`);
      if ((error as NodeJS.ErrnoException).code !== undefined) throw new RepositoryUnusable(path, `it cannot be read: ${String(error)}`);
      throw error;
    }
  }

  /**
   * As `open`, and worktrees can be made of it: the workspace's user may write there.
   * @throws RepositoryUnusable
   */
  async assertUsable(path: string, account: AgentUser): Promise<void> {
    const { common } = await this.open(path, account);
    const asked = await this.git.program('sh', ['-c', '[ -w "$1" ]', 'writable', common], account, { deadlineMs: LOOK_MS });
    if (asked.code === 0) return;
    const who = account.identity === null ? 'the office' : `user ${account.identity.uid}, as whom agents of this workspace run,`;
    throw new RepositoryUnusable(path, `${who} may not write to ${common}`);
  }

  /**
   * Where a path leads that somebody has named. Of what lies outside of the roots nothing is told, not even whether it is there.
   * @throws RepositoryUnusable
   */
  async realPathOf(path: string): Promise<string> {
    const real = await realpath(path).catch(() => null);
    this.assertAllowed(path, real ?? resolve(path), await this.surroundings());
    const folder = real === null ? null : await stat(real).catch(() => null);
    if (real === null || folder?.isDirectory() !== true) throw new RepositoryUnusable(path, 'there is no such folder on this host');
    return real;
  }

  private assertAllowed(path: string, place: string, around: Surroundings): void {
    const objection = objectionTo(place, around);
    if (objection !== null) throw new RepositoryUnusable(path, objection);
  }

  private async surroundings(): Promise<Surroundings> {
    const { OFFICE_REPOSITORY_ROOTS: roots, OFFICE_DATA_DIR: data, OFFICE_WORK_DIR: work } = this.settings;
    return {
      roots: (await Promise.all(roots.map((root) => realpath(root).catch(() => null)))).filter((root) => root !== null),
      own: await Promise.all([data, work].map((folder) => realpath(folder).catch(() => folder))),
    };
  }
}
