import { FromQuery, Flag, Optional, Shaped, Text, Whole } from '../platform/http/fields.decorator.js';

export const PATCH_BYTES = 256 * 1024;

export class ChangesQuery {
  /** From `patch.next_cursor`. */
  @Optional() @Text({ max: 500 }) patch_cursor?: string;
  /** The most of the patch in this answer; a page ends with a whole line. */
  @Optional() @FromQuery() @Whole({ min: 1_024, max: PATCH_BYTES }) patch_bytes: number = 64 * 1024;
}

export class PushBody {
  /** Its name in the repository's configuration; `origin` if left out. */
  @Optional() @Shaped(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'the name of a remote') remote?: string;
}

export class DiscardBody {
  /** Also if the worktree holds changes or commits that are nowhere else: they are lost. */
  @Optional() @Flag() lose_work?: boolean;
}
