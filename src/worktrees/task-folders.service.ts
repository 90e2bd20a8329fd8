import { Injectable } from '@nestjs/common';
import { outside } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { GitFailure } from '../repositories/git.service.js';
import { RepositoryInspector, RepositoryUnusable, type FoundRepository } from '../repositories/repository-inspector.service.js';
import { AgentUsers } from '../workspaces/agent-users.service.js';
import type { ClaimedRun } from '../runs/claim.js';
import { FolderProblem } from './domain/folder-problem.js';
import { WorktreeInspector } from './worktree-inspector.service.js';
import { WorktreeMaker } from './worktree-maker.service.js';
import { WorktreeRepository, type WorktreePlan, type WorktreeRow } from './worktree.repository.js';

const PLANS = 3;

/** Gives every claimed run whose task has a repository the worktree it is to work in, before anything is launched. */
@Injectable()
export class TaskFolders {
  private readonly closing = new AbortController();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly worktrees: WorktreeRepository,
    private readonly maker: WorktreeMaker,
    private readonly inspector: WorktreeInspector,
    private readonly repositories: RepositoryInspector,
    private readonly accounts: AgentUsers,
  ) {}

  /**
   * The worktree of its task: the one that is there, or a new one. Safe to repeat, also by the next run after this one died
   * anywhere in the middle. Nothing to do where there is no repository.
   * @throws FolderProblem with what the run fails of.
   */
  async prepare(run: ClaimedRun): Promise<void> {
    if (run.repositoryId === null) return;
    await this.asProblems(run, () => this.prepareWorktree(run));
  }

  /** The office is closing: what is being made is given up, for the next run to make anew. */
  giveUp(): void {
    this.closing.abort();
  }

  get givenUp(): boolean {
    return this.closing.signal.aborted;
  }

  private async asProblems(run: ClaimedRun, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof RepositoryUnusable)
        throw new FolderProblem('repository_gone', error.path, `The repository cannot be used: ${error.message}`);
      if (error instanceof GitFailure) throw new FolderProblem('worktree_failed', run.folder, error.message);
      throw error;
    }
  }

  private async rowOf(run: ClaimedRun): Promise<WorktreeRow> {
    const row = await this.worktrees.find(outside(this.unitOfWork), run.workspaceId, run.taskId!);
    if (row === null) throw new Error('the task of the run has no worktree');
    return row;
  }

  private async prepareWorktree(run: ClaimedRun): Promise<void> {
    const row = await this.rowOf(run);
    if (row.repository_removed) throw new RepositoryUnusable(row.repository_path, 'it is not registered any more');
    const found = await this.repositories.open(row.repository_path, await this.accounts.of(run.workspaceId));
    if (!row.made) return this.make(run, found, row);
    if ((await this.inspector.open(found, run.folder)) !== null) return;
    if (run.acpSessionId !== null) throw new FolderProblem('folder_gone', run.folder, 'The worktree of the task is not there any more.');
    if (!(await this.maker.makeAgain(found, row.branch!, run.folder, this.closing.signal)))
      await this.make(run, found, { ...row, branch: null });
  }

  private async make(run: ClaimedRun, found: FoundRepository, row: WorktreeRow): Promise<void> {
    let plan: WorktreePlan | null =
      row.branch === null ? null : { branch: row.branch, baseBranch: row.base_branch, baseCommit: row.base_commit! };
    for (let attempt = 1; attempt <= PLANS; attempt++) {
      const again = plan !== null;
      if (plan === null) {
        plan = await this.maker.plan(found, row.identifier);
        assertOurs(await this.worktrees.writePlan(run, plan));
      }
      if ((await this.maker.make(found, plan, run.folder, again, this.closing.signal)) === 'made') {
        assertOurs(await this.worktrees.writeMade(run));
        return;
      }
      plan = null;
    }
    throw new FolderProblem('worktree_failed', run.folder, 'Every branch name that was free had been taken a moment later.');
  }
}

function assertOurs(ours: boolean): void {
  if (!ours) throw new Error('the run was taken away while its worktree was made');
}
