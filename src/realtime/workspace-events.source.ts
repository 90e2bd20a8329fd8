import type { UnitOfWork } from '../platform/database/unit-of-work.js';
import { admittedSql, FeedSource, instantSql, pageOfRows, type FeedItem, type FeedPage } from './feed-source.js';

interface Row {
  readonly seq: string;
  readonly action: string;
  /** As PostgreSQL prints it: it goes into the frame as it is. */
  readonly payload: string;
  readonly at: string;
  readonly oldest: string | null;
  readonly last: string | null;
  readonly admitted: string[] | null;
}

/** One statement, one snapshot: the events, how far they reach, and who may have them. */
const READ = `
  select 0 as seq, null as action, null as payload, null as at, c.oldest_seq as oldest, c.last_seq as last,
         (${admittedSql('$1', '$3')}) as admitted
    from office_event_counters c where c.workspace_id = $1
  union all
  (select e.seq, e.action, e.payload::text, ${instantSql('e.created_at')}, null, null, null
     from office_events e where e.workspace_id = $1 and e.seq > $2 order by e.seq limit $4)
  order by seq`;

/** The events of a workspace (contract 11): gapless and in commit order. */
export class WorkspaceEventsSource extends FeedSource {
  constructor(
    readonly workspaceId: string,
    private readonly unitOfWork: UnitOfWork,
  ) {
    super();
  }

  override async read(after: number, limit: number, tokenIds: readonly string[]): Promise<FeedPage> {
    const rows = await this.unitOfWork.read<Row>(READ, [this.workspaceId, after, tokenIds, limit]);
    return pageOfRows(rows, after, limit, (row) => new WorkspaceEvent(row, this.workspaceId));
  }
}

class WorkspaceEvent implements FeedItem {
  readonly seq: number;
  readonly text: string;
  private tasks: readonly string[] | undefined;

  constructor(
    private readonly row: Row,
    workspaceId: string,
  ) {
    this.seq = Number(row.seq);
    this.text = `{"type":"notification","action":"${row.action}","payload":${row.payload},"timestamp":"${row.at}","seq":${row.seq},"workspace_id":"${workspaceId}"}`;
  }

  /** Looked for only when somebody follows a task. */
  get taskIds(): readonly string[] {
    if (this.tasks === undefined) {
      const { task_id, task_ids } = JSON.parse(this.row.payload) as { task_id?: string | null; task_ids?: string[] };
      this.tasks = [...(task_id ? [task_id] : []), ...(task_ids ?? [])];
    }
    return this.tasks;
  }
}
