import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { Dismissals } from './dismissals.service.js';
import { interruptedTitle } from './domain/item-title.js';
import { STILL_INTERRUPTED } from './open-items.sql.js';

export interface Interruption {
  readonly hostId: string;
  readonly bootId: string;
  readonly cause: string;
}

/** An open interruption, held. */
interface HeldInterruption {
  readonly id: string;
  readonly cause: string;
  readonly host_name: string;
}

/**
 * What a restart took away: one row, and one inbox item, per workspace and boot, however many runs it hit (contract 4).
 * Interruptions are locked after agents: last of all but the events.
 */
@Injectable()
export class Interruptions {
  constructor(private readonly dismissals: Dismissals) {}

  /**
   * DO UPDATE, although there is nothing to write: it holds the row, so that nobody resolves the interruption while a run goes
   * into it, and looks again when somebody just has.
   */
  async add(tx: Tx, runId: string, { hostId, bootId, cause }: Interruption): Promise<void> {
    const [row] = await tx.query<{ id: string; opened: boolean; host_name: string }>(
      `insert into interruptions (id, workspace_id, host_id, boot_id, cause)
       select $1, $2, h.id, $4, $5 from hosts h where h.id = $3
       on conflict (workspace_id, host_id, boot_id) where resolved_at is null do update set cause = interruptions.cause
       returning id, xmax = 0 as opened, (select name from hosts where id = host_id) as host_name`,
      [newId(), tx.workspaceId, hostId, bootId, cause],
    );
    if (row === undefined) throw new Error(`a run was interrupted on a host that is not known: ${hostId}`);
    await tx.query(`insert into interruption_runs (interruption_id, run_id, workspace_id) values ($1, $2, $3) on conflict do nothing`, [
      row.id,
      runId,
      tx.workspaceId,
    ]);
    if (row.opened) tell(tx, { id: row.id, cause, host_name: row.host_name }, 'opened');
  }

  /** The runs an interruption took down, oldest first; it is held. Null when it is resolved already. */
  async holdOpen(tx: Tx, id: string): Promise<HeldInterruption | null> {
    const [held] = await tx.query<HeldInterruption>(
      `select x.id, x.cause, (select name from hosts h where h.id = x.host_id) as host_name
         from interruptions x where x.workspace_id = $1 and x.id = $2 and x.resolved_at is null for no key update`,
      [tx.workspaceId, id],
    );
    return held ?? null;
  }

  /** By a person, or by the office itself. The caller holds it. */
  async resolve(tx: Tx, held: HeldInterruption, userId?: string): Promise<void> {
    await tx.query(`update interruptions set resolved_at = clock_timestamp() where workspace_id = $1 and id = $2`, [
      tx.workspaceId,
      held.id,
    ]);
    await this.dismissals.dismiss(tx, 'runs_interrupted', held.id, userId === undefined ? {} : { userId });
    tell(tx, held, 'resolved');
  }

  /**
   * Something happened to a pair that may have dealt with the last run of an interruption: resumed, reassigned, closed. Then the
   * interruption is over too. It is held before it is judged: of the two that deal with its last two runs, the second sees both.
   */
  async resolveWhatIsOver(tx: Tx, whose: { readonly agentId?: string; readonly taskId?: string }): Promise<void> {
    const open = await tx.query<HeldInterruption>(
      `select x.id, x.cause, (select name from hosts h where h.id = x.host_id) as host_name from interruptions x
        where x.workspace_id = $1 and x.resolved_at is null
          and exists (select from interruption_runs n join runs r on r.id = n.run_id
                       where n.interruption_id = x.id and ($2::uuid is null or r.agent_id = $2) and ($3::uuid is null or r.task_id = $3))
        order by x.id for no key update`,
      [tx.workspaceId, whose.agentId ?? null, whose.taskId ?? null],
    );
    if (open.length === 0) return;
    const over = await tx.query<{ id: string }>(
      `select x.id from interruptions x where x.workspace_id = $1 and x.id = any($2::uuid[]) and x.resolved_at is null
          and not exists (select from interruption_runs n join runs r on r.id = n.run_id
                           where n.interruption_id = x.id and ${STILL_INTERRUPTED}) order by x.id`,
      [tx.workspaceId, open.map(({ id }) => id)],
    );
    for (const { id } of over)
      await this.resolve(
        tx,
        open.find((one) => one.id === id)!,
      );
  }
}

function tell(tx: Tx, { id, cause, host_name }: HeldInterruption, change: 'opened' | 'resolved'): void {
  tx.emit('office.inbox_item', { kind: 'runs_interrupted', item_id: id, title: interruptedTitle(host_name, cause), change });
}
