import { Injectable } from '@nestjs/common';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor, encodeCursor } from '../platform/http/cursor.js';
import { storableText } from '../platform/text/storable.js';
import { GitFailure, type GitAsk, type OpenRepository } from '../repositories/git.service.js';
import type { FoundRepository } from '../repositories/repository-inspector.service.js';
import { LOG_FORMAT, readChangedFiles, readLog, type ChangedFile } from './domain/git-answers.js';
import { isPatchPlace, pageLength, placeKey, readPlace } from './domain/patch-page.js';
import { WorktreeInspector } from './worktree-inspector.service.js';
import { tipOf } from './worktree-maker.service.js';
import type { ChangesQuery } from './worktree.dto.js';
import type { WorktreeRow } from './worktree.repository.js';
import type { ChangesView, PatchView } from './worktree.view.js';

const LOOK: GitAsk = { deadlineMs: 20_000 };
const COMMITS = 200;
const FILES = 1_000;
const UNCOMMITTED = 200;
const FILES_BYTES = 1024 * 1024;
/** Beyond this a patch is not shown: every page of it is made anew from its beginning. */
const PATCH_END = 64 * 1024 * 1024;

const DIFF = ['diff-tree', '-r', '-M', '-l400', '--no-ext-diff', '--no-textconv', '--no-color', '--submodule=short'];

interface Stretch {
  readonly base: string;
  readonly head: string;
}

/** What the branch of a task has changed. Reads only, and never more than fits an answer. */
@Injectable()
export class WorktreeChanges {
  constructor(private readonly inspector: WorktreeInspector) {}

  /** @throws OfficeError `stale_write` when the branch has moved since the cursor was given; GitFailure */
  async of(found: FoundRepository, row: WorktreeRow, query: ChangesQuery): Promise<ChangesView> {
    const { own } = found;
    const cursor = decodeCursor(query.patch_cursor, isPatchPlace);
    const head = await tipOf(own, row.branch!);
    if (head === null) throw new OfficeError('worktree_unusable', { problem: `its branch ${row.branch!} is gone` });
    const stretch = { base: await this.baseOf(own, row, head), head };
    const place = cursor === null ? { ...stretch, offset: 0 } : readPlace(cursor);
    if (place.base !== stretch.base || place.head !== stretch.head) throw new OfficeError('stale_write', { what: 'branch' });
    const [commits, total, changed, uncommitted, patch] = await Promise.all([
      this.commits(own, stretch),
      own.line('the commits could not be counted', ['rev-list', '--count', `${stretch.base}..${stretch.head}`], LOOK),
      this.files(own, stretch),
      this.uncommitted(found, row),
      this.patch(own, stretch, place.offset, query.patch_bytes),
    ]);
    return {
      branch: row.branch!,
      base: { branch: row.base_branch, commit: stretch.base },
      head,
      commits,
      commits_total: Number(total),
      files: changed.files,
      files_cut: changed.cut,
      uncommitted: uncommitted?.list ?? null,
      uncommitted_cut: uncommitted?.cut ?? false,
      patch,
    };
  }

  /**
   * Where the base branch and this one met last, so that what came in from there is not shown as the task's work. Where it
   * began, when all of it has gone into the base branch, or that is not there any more.
   */
  private async baseOf(own: OpenRepository, row: WorktreeRow, head: string): Promise<string> {
    const began = row.base_commit!;
    const tip = row.base_branch === null ? null : await tipOf(own, row.base_branch);
    if (tip === null || tip === began) return began;
    const met = await own.ask(['merge-base', tip, head], LOOK);
    const commit = met.stdout.toString('utf8').trim();
    return met.code === 0 && commit !== head ? commit : began;
  }

  private async commits(own: OpenRepository, { base, head }: Stretch): Promise<ChangesView['commits']> {
    const asked = ['log', '-z', '--no-color', '--no-show-signature', '--no-mailmap', `--format=${LOG_FORMAT}`, '-n', String(COMMITS)];
    const said = await own.must('the commits could not be read', [...asked, `${base}..${head}`, '--'], LOOK);
    return readLog(said.toString('utf8')).map((commit) => ({ ...commit, author: clean(commit.author), subject: clean(commit.subject) }));
  }

  private async files(own: OpenRepository, { base, head }: Stretch): Promise<{ files: ChangedFile[]; cut: boolean }> {
    const answer = await own.ask([...DIFF, '--raw', '--numstat', '-z', base, head], { ...LOOK, maxBytes: FILES_BYTES });
    if (answer.code !== 0 && !answer.cut && !answer.late) throw new GitFailure('the files could not be read', answer);
    const files = readChangedFiles(answer.stdout.toString('utf8'));
    return { files: files.slice(0, FILES).map(cleanFile), cut: answer.cut || answer.late || files.length > FILES };
  }

  private async uncommitted(
    found: FoundRepository,
    row: WorktreeRow,
  ): Promise<{ list: NonNullable<ChangesView['uncommitted']>; cut: boolean } | null> {
    const worktree = await this.inspector.open(found, row.path);
    if (worktree === null) return null;
    const { list, cut } = await this.inspector.uncommitted(worktree);
    return { list: list.slice(0, UNCOMMITTED).map((one) => ({ ...one, path: clean(one.path) })), cut: cut || list.length > UNCOMMITTED };
  }

  private async patch(own: OpenRepository, stretch: Stretch, offset: number, bytes: number): Promise<PatchView> {
    const asked = { ...LOOK, skipBytes: offset, maxBytes: bytes };
    const args = [...DIFF, '-p', '--src-prefix=a/', '--dst-prefix=b/', stretch.base, stretch.head];
    const answer = await own.ask(args, asked);
    const isEnd = !answer.cut;
    if (isEnd && answer.code !== 0) throw new OfficeError('worktree_unusable', { problem: `the patch could not be read: ${answer.said}` });
    const length = pageLength(answer.stdout, isEnd);
    const next = offset + length;
    return {
      text: clean(answer.stdout.subarray(0, length).toString('utf8')),
      next_cursor: isEnd || next > PATCH_END ? null : encodeCursor(placeKey({ ...stretch, offset: next })),
    };
  }
}

const clean = (text: string): string => storableText(text);
const cleanFile = (file: ChangedFile): ChangedFile => ({
  ...file,
  path: clean(file.path),
  old_path: file.old_path === null ? null : clean(file.old_path),
});
