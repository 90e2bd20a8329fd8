import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';
import { TASK_STATES } from '../tasks/domain/task-state.js';
import type { TaskState } from '../tasks/domain/task-state.js';
import { CHANGE_KINDS, type ChangeKind, type Uncommitted } from './domain/git-answers.js';
import type { WorktreeRow } from './worktree.repository.js';

export class WorktreeTaskView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() identifier!: string;
  @ApiProperty({ description: 'Empty when the task is deleted.' }) title!: string;
  @ApiProperty({ enum: TASK_STATES }) state!: TaskState;
  @ApiProperty() deleted!: boolean;
}

export class WorktreeRepositoryView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
}

export class BaseView {
  @ApiProperty({ type: String, nullable: true, description: 'Null: the repository stood on no branch.' }) branch!: string | null;
  @ApiProperty() commit!: string;
}

export class WorktreeView {
  @ApiProperty({ type: WorktreeTaskView }) task!: WorktreeTaskView;
  @ApiProperty({ type: WorktreeRepositoryView }) repository!: WorktreeRepositoryView;
  @ApiProperty({ format: 'uuid' }) host_id!: string;
  @ApiProperty({ description: 'The folder on that host.' }) path!: string;
  @ApiProperty({ type: String, nullable: true }) branch!: string | null;
  @ApiProperty({ type: BaseView, nullable: true, description: 'Where the branch began.' }) base!: BaseView | null;
  @ApiProperty({ enum: ['making', 'ready', 'removing'] }) state!: 'making' | 'ready' | 'removing';
  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Changes not committed, when it was last looked into after its task was over.',
  })
  uncommitted!: number | null;
  @ApiProperty({ type: Number, nullable: true, description: 'Commits that were nowhere else then.' }) unpushed!: number | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) checked_at!: string | null;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}

export class WorktreePage extends pageOf(WorktreeView) {}

export class CommitView {
  @ApiProperty() commit!: string;
  @ApiProperty() author!: string;
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty() subject!: string;
}

export class ChangedFileView {
  @ApiProperty() path!: string;
  @ApiProperty({ type: String, nullable: true, description: 'Where it was before it was renamed or copied.' }) old_path!: string | null;
  @ApiProperty({ enum: CHANGE_KINDS }) change!: ChangeKind;
  @ApiProperty({ type: Number, nullable: true, description: 'Lines; null for what is no text.' }) additions!: number | null;
  @ApiProperty({ type: Number, nullable: true }) deletions!: number | null;
}

export class UncommittedView {
  @ApiProperty() path!: string;
  @ApiProperty({ enum: ['untracked', 'conflict', ...CHANGE_KINDS] }) change!: Uncommitted['change'];
}

export class PatchView {
  @ApiProperty({ description: 'A part of the patch from base to head; what is not UTF-8 in it reads U+FFFD.' }) text!: string;
  @ApiProperty({ type: String, nullable: true, description: 'As `patch_cursor` it asks for what follows; null at the end.' })
  next_cursor!: string | null;
}

/** What the branch of a task adds to where it began, or to where its base has met it since. */
export class ChangesView {
  @ApiProperty() branch!: string;
  @ApiProperty({ type: BaseView }) base!: BaseView;
  @ApiProperty({ description: 'The commit the branch ends with.' }) head!: string;
  @ApiProperty({ type: [CommitView], description: 'The newest 200, newest first.' }) commits!: CommitView[];
  @ApiProperty() commits_total!: number;
  @ApiProperty({ type: [ChangedFileView], description: 'The first 1000, by path.' }) files!: ChangedFileView[];
  @ApiProperty({ description: 'More files than these have changed.' }) files_cut!: boolean;
  @ApiProperty({ type: [UncommittedView], nullable: true, description: 'The first 200 in the folder; null: the folder is not there.' })
  uncommitted!: UncommittedView[] | null;
  @ApiProperty() uncommitted_cut!: boolean;
  @ApiProperty({ type: PatchView }) patch!: PatchView;
}

export class PushedView {
  @ApiProperty() remote!: string;
  @ApiProperty() branch!: string;
  @ApiProperty({ description: 'What the branch ends with there now.' }) commit!: string;
}

export class DiscardedView {
  @ApiProperty({ type: String, nullable: true }) branch!: string | null;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'The last commit of its branch; `git branch <name> <commit>` brings it back for a while.',
  })
  commit!: string | null;
}

export const viewWorktree = (row: WorktreeRow): WorktreeView => ({
  task: { id: row.task_id, identifier: row.identifier, title: row.title, state: row.state, deleted: row.deleted },
  repository: { id: row.repository_id, name: row.repository_name },
  host_id: row.host_id,
  path: row.path,
  branch: row.branch,
  base: row.base_commit === null ? null : { branch: row.base_branch, commit: row.base_commit },
  state: row.removing ? 'removing' : row.made ? 'ready' : 'making',
  uncommitted: row.uncommitted,
  unpushed: row.unpushed,
  checked_at: row.checked_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});
