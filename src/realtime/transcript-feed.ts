import type { UnitOfWork } from '../platform/database/unit-of-work.js';
import { admittedSql, FeedSource, type FeedPage } from './feed-source.js';

/** An entry as people see it; `rev` is its newest revision. */
export interface TranscriptChange {
  readonly rev: number;
  readonly at: string;
  /** The entry's view, as `GET /sessions/:id/entries` answers it. */
  readonly entry: object;
}

/**
 * What a session's transcript has to offer the socket; filled by the room that keeps transcripts. As long as nobody does,
 * `session.subscribe` is an unknown action. Whoever writes entries nudges `transcript` after the commit.
 */
export abstract class TranscriptFeed {
  /** Entries changed after that revision in their present form, by revision; and the session's newest revision. */
  abstract read(sessionId: string, afterRev: number, limit: number): Promise<{ changes: readonly TranscriptChange[]; lastRev: number }>;
}

/** Revisions have holes (an entry shows only its newest), so the stretch of a page ends at the newest revision when it is the last. */
export class TranscriptSource extends FeedSource {
  constructor(
    readonly workspaceId: string,
    private readonly sessionId: string,
    private readonly transcripts: TranscriptFeed,
    private readonly unitOfWork: UnitOfWork,
  ) {
    super();
  }

  override async read(after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage> {
    const { changes, lastRev } = await this.transcripts.read(this.sessionId, after, limit);
    // Asked after the entries were read: a removal that was committed before them is seen.
    const [row] = await this.unitOfWork.read<{ admitted: string[] | null }>(`select (${admittedSql('$1', '$2')}) as admitted`, [
      this.workspaceId,
      tokenIds,
    ]);
    const more = changes.length > 0 && changes.length === limit;
    return {
      items: changes.map(({ rev, at, entry }) => ({
        seq: rev,
        taskIds: [],
        text: JSON.stringify({
          type: 'notification',
          action: 'session.entry',
          payload: entry,
          timestamp: at,
          seq: rev,
          workspace_id: this.workspaceId,
        }),
      })),
      after,
      upTo: more || limit === 0 ? (changes.at(-1)?.rev ?? after) : Math.max(after, lastRev),
      more,
      oldest: 1,
      last: lastRev,
      admitted: new Set(row?.admitted ?? []),
    };
  }
}
