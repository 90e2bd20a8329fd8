import { Injectable } from '@nestjs/common';
import { outside } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import { OfficeHost } from '../platform/office-host.js';
import { GitFailure } from '../repositories/git.service.js';
import { RepositoryInspector, RepositoryUnusable, type FoundRepository } from '../repositories/repository-inspector.service.js';
import { AgentUsers } from '../workspaces/agent-users.service.js';
import { WorktreeChanges } from './worktree-changes.service.js';
import { WorktreePush } from './worktree-push.service.js';
import { WorktreeRemoval } from './worktree-removal.service.js';
import type { ChangesQuery, DiscardBody, PushBody } from './worktree.dto.js';
import { WorktreeRepository, type WorktreeRow } from './worktree.repository.js';
import { viewWorktree, type ChangesView, type DiscardedView, type PushedView, type WorktreePage } from './worktree.view.js';

/** Where people look at what agents did in their worktrees, and decide what becomes of it. */
@Injectable()
export class WorktreeDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly worktrees: WorktreeRepository,
    private readonly repositories: RepositoryInspector,
    private readonly accounts: AgentUsers,
    private readonly reading: WorktreeChanges,
    private readonly pushing: WorktreePush,
    private readonly removal: WorktreeRemoval,
    private readonly host: OfficeHost,
  ) {}

  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<WorktreePage> {
    const rows = await this.worktrees.list(outside(this.unitOfWork), workspaceId, { after: decodeCursor(cursor), take: limit + 1 });
    return pageFrom(rows, limit, ({ task_id }) => task_id, viewWorktree);
  }

  async changes(workspaceId: string, taskId: string, query: ChangesQuery): Promise<ChangesView> {
    const row = await this.madeHere(workspaceId, taskId);
    return this.withRepository(row, (found) => this.reading.of(found, row, query));
  }

  /** Safe to repeat: what is there already stays there. */
  async push(workspaceId: string, taskId: string, { remote = 'origin' }: PushBody): Promise<PushedView> {
    const row = await this.madeHere(workspaceId, taskId);
    const pushed = await this.withRepository(row, (found) => this.pushing.push(found, row.branch!, remote));
    await this.unitOfWork.run(workspaceId, (tx) => this.worktrees.writePushed(tx, row, pushed.commit));
    return pushed;
  }

  async discard(workspaceId: string, taskId: string, { lose_work: losesWork = false }: DiscardBody): Promise<DiscardedView> {
    const row = await this.here(workspaceId, taskId);
    const { tip } = await this.removal.remove(row, { losesWork, onlyIfOver: false });
    return { branch: row.branch, commit: tip };
  }

  private async madeHere(workspaceId: string, taskId: string): Promise<WorktreeRow> {
    const row = await this.here(workspaceId, taskId);
    if (!row.made) throw new OfficeError('not_found', { what: 'worktree' });
    return row;
  }

  private async here(workspaceId: string, taskId: string): Promise<WorktreeRow> {
    const row = await this.worktrees.find(outside(this.unitOfWork), workspaceId, taskId);
    if (row === null) throw new OfficeError('not_found', { what: 'worktree' });
    if (row.host_id !== this.host.id) throw new OfficeError('host_offline', { host_id: row.host_id });
    return row;
  }

  private async withRepository<T>(row: WorktreeRow, work: (found: FoundRepository) => Promise<T>): Promise<T> {
    try {
      return await work(await this.repositories.open(row.repository_path, await this.accounts.of(row.workspace_id)));
    } catch (error) {
      if (error instanceof RepositoryUnusable) throw new OfficeError('repository_unusable', { problem: error.problem });
      if (error instanceof GitFailure) throw new OfficeError('worktree_unusable', { problem: error.message });
      throw error;
    }
  }
}
