import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { InboxReads } from '../inbox/inbox-reads.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { RunReads } from '../runs/run-reads.service.js';
import { CapabilityGrants } from './capability-grants.service.js';
import { FailedRunFixing } from './failed-run-fixing.service.js';
import type { Fixing } from './fixing.js';
import { InterruptionFixing } from './interruption-fixing.service.js';
import { PauseFixing } from './pause-fixing.service.js';
import type { FixedItemsView, FixedView } from './recovery.view.js';

const ABOUT_THE_KEY: ReadonlySet<string> = new Set(['idempotency_key_reused', 'in_progress']);

const forItem = (call: Call, itemId: string): Call =>
  call.idempotency === null ? call : { ...call, idempotency: { ...call.idempotency, route: `${call.idempotency.route}/${itemId}` } };

/** Mark fixed: a person says that the cause is gone. One transaction an item, safe to repeat. */
@Injectable()
export class InboxDesk {
  private readonly fixings: readonly Fixing[];

  constructor(
    private readonly commands: IdempotentCommands,
    private readonly inbox: InboxReads,
    private readonly runs: RunReads,
    failedRuns: FailedRunFixing,
    pauses: PauseFixing,
    interruptions: InterruptionFixing,
    capabilities: CapabilityGrants,
  ) {
    this.fixings = [failedRuns, pauses, interruptions, capabilities];
  }

  dismiss(call: Call, workspaceId: string, itemId: string): Promise<FixedView> {
    return this.commands.once(call, workspaceId, (tx) => this.fix(tx, itemId, call.person.userId));
  }

  /**
   * One after the other, each in a transaction of its own: what one item refuses does not keep the others. An Idempotency-Key
   * holds for each of them, so that a request that was cut short is finished by its repetition.
   */
  async dismissAll(call: Call, workspaceId: string, itemIds: readonly string[]): Promise<FixedItemsView> {
    const items: FixedItemsView['items'] = [];
    for (const itemId of new Set(itemIds.map((id) => id.toLowerCase()))) {
      try {
        items.push(await this.dismiss(forItem(call, itemId), workspaceId, itemId));
      } catch (error) {
        if (!(error instanceof OfficeError) || ABOUT_THE_KEY.has(error.code)) throw error;
        items.push({ ...error.facts, item_id: itemId, dismissed: false, code: error.code, error: error.message });
      }
    }
    return { items };
  }

  private async fix(tx: Tx, itemId: string, userId: string): Promise<FixedView> {
    const kind = await this.inbox.kindOf(tx, tx.workspaceId!, itemId);
    if (kind === null) throw new OfficeError('not_found', { what: 'inbox item', id: itemId });
    const fixing = this.fixings.find((one) => one.kind === kind);
    if (fixing === undefined) throw new OfficeError('item_not_fixable', { kind });
    const { already, queued, skipped } = await fixing.fix(tx, itemId, userId);
    const waits = await this.runs.waitingOnEach(
      tx,
      tx.workspaceId!,
      queued.map(({ runId }) => runId),
    );
    const first = queued.map(({ runId }) => waits.get(runId)).find((reason) => reason != null);
    return {
      item_id: itemId,
      kind,
      dismissed: true,
      already_dismissed: already,
      queued_runs: queued.map(({ runId, taskId, agentId }) => ({
        run_id: runId,
        task_id: taskId,
        agent_id: agentId,
        waiting_on: waits.get(runId) ?? null,
      })),
      skipped: skipped.map(({ taskId, agentId, why }) => ({ task_id: taskId, agent_id: agentId, why })),
      ...(first == null ? {} : { waiting_on: first }),
    };
  }
}
