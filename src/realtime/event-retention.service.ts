import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Leadership, type LeaderWork } from '../platform/leadership/leadership.service.js';

/** Events of one transaction: short, because at its end it holds the counter that every writer of the workspace needs. */
const BATCH = 2_000;
const EVERY_MS = 60_000;

/** Workspaces that keep more than they should. `$1` days, `$2` rows. */
const OVERDUE = `
  select c.workspace_id from office_event_counters c
    cross join lateral (select e.created_at from office_events e
                         where e.workspace_id = c.workspace_id and e.seq >= c.oldest_seq order by e.seq limit 1) first
   where c.last_seq - c.oldest_seq + 1 > $2 or first.created_at < now() - make_interval(days => $1)
   order by c.workspace_id`;

/**
 * Deletes the oldest of those that are over, at most a batch. Only ever a whole beginning: times are those of the
 * transactions' begins and not quite in the order of `seq`, so it ends before the first that is still young enough.
 */
const PRUNE = `
  with counter as (select last_seq, oldest_seq from office_event_counters where workspace_id = $1),
  eldest as (
    select e.seq, e.created_at < now() - make_interval(days => $2) or e.seq <= c.last_seq - $3 as over
      from counter c cross join lateral (select seq, created_at from office_events
        where workspace_id = $1 and seq >= c.oldest_seq order by seq limit ${BATCH}) e),
  floor as (select coalesce(min(seq) filter (where not over), max(seq) + 1) as seq from eldest)
  delete from office_events e using floor f
   where e.workspace_id = $1 and e.seq < f.seq and e.seq >= (select oldest_seq from counter)
  returning e.seq`;

/** Committed together with the deletion: whoever reads sees both or neither. */
const RAISE_FLOOR = `
  update office_event_counters set oldest_seq = greatest(oldest_seq, $2::bigint + 1) where workspace_id = $1`;

/** Events are news, not history: so many days or rows of each workspace, whichever is less, and no more. */
@Injectable()
export class EventRetention implements LeaderWork, OnModuleInit {
  readonly name = 'event-retention';
  readonly everyMs = EVERY_MS;
  private readonly logger = new Logger(EventRetention.name);

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly leadership: Leadership,
    private readonly settings: OfficeSettings,
  ) {}

  onModuleInit(): void {
    this.leadership.register(this);
  }

  async work(signal: AbortSignal): Promise<void> {
    const { OFFICE_EVENTS_KEEP_DAYS: days, OFFICE_EVENTS_KEEP_ROWS: rows } = this.settings;
    const overdue = await this.unitOfWork.read<{ workspace_id: string }>(OVERDUE, [days, rows]);
    let pruned = 0;
    for (const { workspace_id } of overdue) {
      for (let gone = BATCH; gone === BATCH && !signal.aborted; pruned += gone) gone = await this.prune(workspace_id, days, rows);
    }
    if (pruned > 0) this.logger.log({ workspaces: overdue.length, events: pruned }, 'events forgotten');
  }

  private prune(workspaceId: string, days: number, rows: number): Promise<number> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const gone = await tx.query<{ seq: string }>(PRUNE, [workspaceId, days, rows]);
      if (gone.length > 0) await tx.query(RAISE_FLOOR, [workspaceId, Math.max(...gone.map(({ seq }) => Number(seq)))]);
      return gone.length;
    });
  }
}
