import type { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { TranscriptReads } from '../transcript/transcript-reads.service.js';
import { admittedSql, FeedSource, type FeedPage } from './feed-source.js';

/**
 * A session's transcript: entries changed since a revision, each in its present form. Revisions have holes (an entry shows only its
 * newest), so the stretch of a page ends at the newest revision when it is the last.
 */
export class TranscriptSource extends FeedSource {
  constructor(
    readonly workspaceId: string,
    private readonly sessionId: string,
    private readonly transcripts: TranscriptReads,
    private readonly unitOfWork: UnitOfWork,
  ) {
    super();
  }

  override async read(after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage> {
    const { entries, newest } = await this.transcripts.changedSince(this.workspaceId, this.sessionId, after, limit);
    // Asked after the entries were read: a removal that was committed before them is seen.
    const [row] = await this.unitOfWork.read<{ admitted: string[] | null }>(`select (${admittedSql('$1', '$2')}) as admitted`, [
      this.workspaceId,
      tokenIds,
    ]);
    const more = entries.length > 0 && entries.length === limit;
    return {
      items: entries.map((entry) => ({
        seq: entry.rev,
        taskIds: [],
        text: JSON.stringify({
          type: 'notification',
          action: 'session.entry',
          payload: entry,
          timestamp: entry.updated_at,
          seq: entry.rev,
          workspace_id: this.workspaceId,
        }),
      })),
      after,
      upTo: more || limit === 0 ? (entries.at(-1)?.rev ?? after) : Math.max(after, newest),
      more,
      oldest: 1,
      last: newest,
      admitted: new Set(row?.admitted ?? []),
    };
  }
}
