import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { GitFailure } from '../repositories/git.service.js';
import { RepositoryInspector, RepositoryUnusable, type FoundRepository } from '../repositories/repository-inspector.service.js';
import { AgentUsers } from '../workspaces/agent-users.service.js';
import { BusyTasks } from '../runs/run-reads.service.js';
import { isFolder, WorktreeInspector, type Looked } from './worktree-inspector.service.js';
import { WorktreeMaker } from './worktree-maker.service.js';
import { WorktreeRepository, type Holdings, type WorktreeRow } from './worktree.repository.js';

export interface Removed {
  /** The last commit of its branch: git keeps it for a while, whatever else is gone. */
  readonly tip: string | null;
}

/**
 * Takes worktrees away: first nobody may begin to work in it, then it is looked into, then it goes. Dying anywhere in
 * between leaves a row that says so, and `finish` goes on from there.
 */
@Injectable()
export class WorktreeRemoval {
  private readonly underWay = new Set<string>();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly worktrees: WorktreeRepository,
    private readonly maker: WorktreeMaker,
    private readonly inspector: WorktreeInspector,
    private readonly repositories: RepositoryInspector,
    private readonly accounts: AgentUsers,
    private readonly busy: BusyTasks,
  ) {}

  /**
   * With everything in it if `losesWork`, else only if nothing would be lost: `worktree_not_clean` says what. Where its
   * repository is gone nobody can tell, so that only `losesWork` removes it.
   * @throws OfficeError `task_busy`, `worktree_not_clean`, `worktree_unusable`
   */
  async remove(row: WorktreeRow, how: { readonly losesWork: boolean; readonly onlyIfOver: boolean }): Promise<Removed> {
    if (this.underWay.has(row.task_id) || this.busy.busyTaskIds().includes(row.task_id)) throw new OfficeError('task_busy');
    this.underWay.add(row.task_id);
    try {
      const begun = await this.unitOfWork.run(row.workspace_id, (tx) => this.worktrees.beginRemoval(tx, row.task_id, how.onlyIfOver));
      if (!begun) throw new OfficeError('task_busy');
      return await this.removeBegun(row, how.losesWork);
    } finally {
      this.underWay.delete(row.task_id);
    }
  }

  /** What a process that died has begun: one that still stands in its place was not decided upon yet, and stays. */
  async finish(row: WorktreeRow): Promise<void> {
    if (this.underWay.has(row.task_id)) return;
    if (await isFolder(row.path)) await this.callOff(row);
    else await this.takeAway(await this.repositoryOf(row), row, null);
  }

  /** Null: it cannot be told. */
  async holdingsOf(row: WorktreeRow): Promise<Holdings | null> {
    const found = await this.repositoryOf(row);
    return found === null ? null : this.look(found, row);
  }

  private async removeBegun(row: WorktreeRow, losesWork: boolean): Promise<Removed> {
    try {
      const found = await this.repositoryOf(row);
      const looked =
        found === null
          ? null
          : await this.look(found, row).catch((error: unknown) => {
              if (losesWork && error instanceof GitFailure) return null;
              throw error;
            });
      if (!losesWork) assertNothingLost(looked);
      await this.takeAway(found, row, looked?.tip ?? null);
      return { tip: looked?.tip ?? null };
    } catch (error) {
      // Once it has left its place there is no way back: the next round goes on.
      if (await isFolder(row.path)) await this.callOff(row);
      if (error instanceof GitFailure) throw new OfficeError('worktree_unusable', { problem: error.message });
      throw error;
    }
  }

  private callOff(row: WorktreeRow): Promise<void> {
    return this.unitOfWork.run(row.workspace_id, (tx) => this.worktrees.callOffRemoval(tx, row.task_id));
  }

  private async takeAway(found: FoundRepository | null, row: WorktreeRow, tip: string | null): Promise<void> {
    if (found === null) {
      const account = await this.accounts.of(row.workspace_id);
      if (await isFolder(row.path)) await this.maker.removeFolder(account, row.path);
    } else if (row.branch !== null) {
      await this.maker.remove(found, row.branch, row.path, tip);
    }
    await this.unitOfWork.run(row.workspace_id, (tx) => this.worktrees.forget(tx, row));
  }

  private async look(found: FoundRepository, row: WorktreeRow): Promise<Looked> {
    // One that was never made, or whose folder somebody has removed, has nothing but what its branch keeps.
    if (!row.made) return { ...NOTHING, tip: row.base_commit };
    const worktree = await this.inspector.open(found, row.path);
    return worktree === null ? NOTHING : this.inspector.lookInto(worktree, row);
  }

  private async repositoryOf(row: WorktreeRow): Promise<FoundRepository | null> {
    try {
      return await this.repositories.open(row.repository_path, await this.accounts.of(row.workspace_id));
    } catch (error) {
      if (error instanceof RepositoryUnusable) return null;
      throw error;
    }
  }
}

const NOTHING: Looked = { uncommitted: 0, unpushed: 0, tip: null };

function assertNothingLost(looked: Looked | null): void {
  if (looked === null) throw new OfficeError('worktree_not_clean', { uncommitted: null, unpushed: null });
  const { uncommitted, unpushed } = looked;
  if (uncommitted > 0 || unpushed > 0) throw new OfficeError('worktree_not_clean', { uncommitted, unpushed });
}
