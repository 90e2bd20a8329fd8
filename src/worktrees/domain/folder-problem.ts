import { storableText } from '../../platform/text/storable.js';

export const FOLDER_PROBLEMS = ['folder_gone', 'repository_gone', 'worktree_failed'] as const;

/**
 * A run has no place to work in; it fails with this as its reason. `folder_gone`: its folder is not there any more.
 * `repository_gone`: the repository is not, or may not be used any more. `worktree_failed`: git could not make the worktree.
 */
export class FolderProblem extends Error {
  constructor(
    readonly kind: (typeof FOLDER_PROBLEMS)[number],
    readonly path: string,
    message: string,
  ) {
    super(storableText(message));
    this.name = 'FolderProblem';
  }

  get payload(): string {
    return JSON.stringify({ kind: this.kind, path: storableText(this.path), message: this.message });
  }
}
