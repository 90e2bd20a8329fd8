import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { Dismissals } from './dismissals.service.js';
import { heldTitle } from './domain/item-title.js';

export interface HoldOpening {
  readonly runId: string;
  readonly agentId: string;
  readonly summary: string;
  /** When the provider says it takes work again: epoch milliseconds. */
  readonly resetAtMs: number;
  /** How much longer it is left alone. */
  readonly marginSec: number;
}

interface HeldRow {
  readonly id: string;
  readonly adapter: string;
  readonly agent_id: string;
}

/**
 * Providers that have said until when they take no more work (contract 6, `wait_for_reset`). One open hold, and one inbox item,
 * per workspace, adapter and credential. Holds are locked after agents.
 */
@Injectable()
export class ProviderHolds {
  constructor(private readonly dismissals: Dismissals) {}

  /** Opens a hold on what the agent works with, or prolongs the one that is open: then nobody has gone first yet. Only where the workspace wants it. */
  async open(tx: Tx, { runId, agentId, summary, resetAtMs, marginSec }: HoldOpening): Promise<void> {
    const [row] = await tx.query<HeldRow & { opened: boolean }>(
      `insert into provider_holds (id, workspace_id, adapter, credential, summary, run_id, agent_id, reset_at, held_until)
       select $1, a.workspace_id, a.adapter, office_credential(a.adapter_config), $4, $5, a.id, to_timestamp($6::float8 / 1000), to_timestamp($6::float8 / 1000) + make_interval(secs => $7)
         from agent_instances a join workspace_settings s on s.workspace_id = a.workspace_id
        where a.workspace_id = $2 and a.id = $3 and s.wait_for_reset = 'on'
       on conflict (workspace_id, adapter, credential) where ended_at is null do update
         set held_until = greatest(provider_holds.held_until, excluded.held_until), reset_at = greatest(provider_holds.reset_at, excluded.reset_at),
             summary = excluded.summary, run_id = excluded.run_id, agent_id = excluded.agent_id, first_run_id = null
       returning id, adapter, agent_id, xmax = 0 as opened`,
      [newId(), tx.workspaceId, agentId, summary, runId, resetAtMs, marginSec],
    );
    if (row?.opened === true) tell(tx, row, 'opened');
  }

  /** What the run that went first came to, if this is one: the provider takes work again, or its trouble is another by now. */
  async firstHasEnded(tx: Tx, runId: string): Promise<void> {
    const ended = await tx.query<HeldRow>(
      `update provider_holds set ended_at = clock_timestamp() where workspace_id = $1 and first_run_id = $2 and ended_at is null
       returning id, adapter, agent_id`,
      [tx.workspaceId, runId],
    );
    for (const hold of ended) await this.resolve(tx, hold);
  }

  /** A person says that the provider takes work again. False: there is no such open hold. */
  async lift(tx: Tx, id: string, userId: string): Promise<boolean> {
    const [lifted] = await tx.query<HeldRow>(
      `update provider_holds set ended_at = clock_timestamp(), ended_by = $3 where workspace_id = $1 and id = $2 and ended_at is null
       returning id, adapter, agent_id`,
      [tx.workspaceId, id, userId],
    );
    if (lifted === undefined) return false;
    await this.resolve(tx, lifted, userId);
    return true;
  }

  private async resolve(tx: Tx, hold: HeldRow, userId?: string): Promise<void> {
    await this.dismissals.dismiss(tx, 'provider_hold', hold.id, userId === undefined ? {} : { userId });
    tell(tx, hold, 'resolved');
    tx.nudge('work');
  }
}

const tell = (tx: Tx, { id, adapter, agent_id }: HeldRow, change: 'opened' | 'resolved'): void =>
  tx.emit('office.inbox_item', { kind: 'provider_hold', item_id: id, agent_id, title: heldTitle(adapter), change });
