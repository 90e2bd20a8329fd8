import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { interruptedTitle } from './domain/item-title.js';

export interface Interruption {
  readonly hostId: string;
  readonly bootId: string;
  readonly cause: string;
}

/** What a restart took away: one row, and one inbox item, per workspace and boot, however many runs it hit (contract 4). */
@Injectable()
export class Interruptions {
  async add(tx: Tx, runId: string, { hostId, bootId, cause }: Interruption): Promise<void> {
    const opened = await tx.query<{ id: string; host_name: string }>(
      `insert into interruptions (id, workspace_id, host_id, boot_id, cause)
       select $1, $2, h.id, $4, $5 from hosts h where h.id = $3
       on conflict (workspace_id, host_id, boot_id) where resolved_at is null do nothing
       returning id, (select name from hosts where id = host_id) as host_name`,
      [newId(), tx.workspaceId, hostId, bootId, cause],
    );
    await tx.query(
      `insert into interruption_runs (interruption_id, run_id, workspace_id)
       select id, $1, workspace_id from interruptions
        where workspace_id = $2 and host_id = $3 and boot_id = $4 and resolved_at is null
       on conflict do nothing`,
      [runId, tx.workspaceId, hostId, bootId],
    );
    for (const { id, host_name } of opened) {
      tx.emit('office.inbox_item', { kind: 'runs_interrupted', item_id: id, title: interruptedTitle(host_name, cause), change: 'opened' });
    }
  }
}
