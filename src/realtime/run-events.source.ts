import type { UnitOfWork } from '../platform/database/unit-of-work.js';
import { admittedSql, FeedSource, instantSql, pageOfRows, type FeedPage } from './feed-source.js';

interface Row {
  readonly seq: number;
  readonly event_type: string;
  readonly level: string;
  readonly payload: object;
  readonly at: string;
  readonly oldest: null;
  readonly last: number | null;
  readonly admitted: string[] | null;
}

const READ = `
  select 0 as seq, null as event_type, null as level, null::jsonb as payload, null as at, null as oldest,
         (select max(seq) from office_run_events where workspace_id = $1 and run_id = $2) as last,
         (${admittedSql('$1', '$4')}) as admitted
  union all
  (select e.seq, e.event_type, e.level, e.payload, ${instantSql('e.created_at')}, null, null, null
     from office_run_events e where e.workspace_id = $1 and e.run_id = $2 and e.seq > $3 order by e.seq limit $5)
  order by seq`;

/** A run's own log: numbered from 1 without gaps, because every writer holds the run's row. */
export class RunEventsSource extends FeedSource {
  constructor(
    readonly workspaceId: string,
    private readonly runId: string,
    private readonly unitOfWork: UnitOfWork,
  ) {
    super();
  }

  override async read(after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage> {
    const rows = await this.unitOfWork.read<Row>(READ, [this.workspaceId, this.runId, Math.min(after, MAX_SEQ), tokenIds, limit]);
    return pageOfRows(rows, after, limit, ({ seq, event_type, level, payload, at }) => ({
      seq,
      taskIds: [],
      text: JSON.stringify({
        type: 'notification',
        action: 'run.event',
        payload: { run_id: this.runId, event_type, level, payload, created_at: at },
        timestamp: at,
        seq,
        workspace_id: this.workspaceId,
      }),
    }));
  }
}

/** Of an integer column. */
const MAX_SEQ = 2_147_483_647;
