import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { isLost } from './domain/stretch.js';
import type { EventsQuery } from './events.dto.js';
import type { EventsView, EventView } from './events.view.js';
import { instantSql } from './feed-source.js';

interface Row extends Omit<EventView, 'seq'> {
  readonly seq: string | null;
  readonly last_seq: string;
  readonly oldest_seq: string;
}

/** The events for clients without a socket. */
@Injectable()
export class EventReads {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** Refuses a place whose continuation is not kept (`resync_required`): an answer without a hole or none. */
  async after(workspaceId: string, { after, limit }: EventsQuery): Promise<EventsView> {
    const rows = await this.unitOfWork.read<Row>(
      `select c.last_seq, c.oldest_seq, e.seq, e.action, e.payload, ${instantSql('e.created_at')} as timestamp
         from office_event_counters c
         left join lateral (select * from office_events where workspace_id = $1 and seq > coalesce($2::bigint, c.oldest_seq - 1)
                             order by seq limit $3) e on true
        where c.workspace_id = $1 order by e.seq`,
      [workspaceId, after ?? null, limit],
    );
    const [head] = rows;
    if (head === undefined) throw new OfficeError('not_found');
    const extent = { oldest: Number(head.oldest_seq), last: Number(head.last_seq) };
    if (after !== undefined && isLost(after, extent)) {
      throw new OfficeError('resync_required', { oldest_seq: extent.oldest, last_seq: extent.last });
    }
    const items = rows.flatMap(({ seq, action, payload, timestamp }) =>
      seq === null ? [] : [{ seq: Number(seq), action, payload, timestamp }],
    );
    return { items, last_seq: extent.last, oldest_seq: extent.oldest };
  }
}
