import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { newId, SYSTEM_USER_ID } from '../platform/ids.js';
import { storableJson } from '../platform/text/storable.js';
import { Dismissals } from './dismissals.service.js';
import { approvalTitle } from './domain/item-title.js';

export interface NewApproval {
  readonly type: 'hire_agent' | 'generic';
  readonly agentId: string;
  readonly runId: string;
  readonly taskId: string | null;
  readonly target: { readonly type: 'agent' | 'task' | 'skill' | 'project'; readonly id: string } | null;
  readonly reason: string;
  readonly payload: object;
  /** Of a hire: of what is shown of the new agent. */
  readonly shownHash: Buffer | null;
}

export interface ApprovalRow {
  readonly id: string;
  readonly type: 'hire_agent' | 'generic';
  readonly status: 'pending' | 'approved' | 'rejected';
  readonly agent_id: string;
  readonly agent_name: string;
  readonly run_id: string;
  readonly task_id: string | null;
  readonly target_type: string | null;
  readonly target_id: string | null;
  readonly reason: string;
  readonly shown_hash: Buffer | null;
}

export type Decision = 'approved' | 'rejected';

const ROW = `p.id, p.type, p.status, p.agent_id, a.name as agent_name, p.run_id, p.task_id, p.target_type, p.target_id, p.reason, p.shown_hash`;

/** What agents want and only people may grant. One inbox item each. Approvals are locked after agents. */
@Injectable()
export class Approvals {
  constructor(private readonly dismissals: Dismissals) {}

  async open(tx: Tx, wanted: NewApproval): Promise<string> {
    const id = newId();
    await tx.query(
      `insert into approvals (id, workspace_id, type, agent_id, run_id, task_id, target_type, target_id, reason, payload, shown_hash)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        id,
        tx.workspaceId,
        wanted.type,
        wanted.agentId,
        wanted.runId,
        wanted.taskId,
        wanted.target?.type ?? null,
        wanted.target?.id ?? null,
        wanted.reason,
        storableJson(wanted.payload),
        wanted.shownHash,
      ],
    );
    const row = (await this.find(tx, id))!;
    tx.emit('office.approval.created', { approval_id: id, type: row.type, status: row.status });
    tell(tx, row, 'opened');
    return id;
  }

  async find(tx: Tx, id: string): Promise<ApprovalRow | null> {
    const [row] = await tx.query<ApprovalRow>(
      `select ${ROW} from approvals p join agent_instances a on a.id = p.agent_id where p.workspace_id = $1 and p.id = $2`,
      [tx.workspaceId, id],
    );
    return row ?? null;
  }

  /** By compare-and-set: whoever comes second is told so. */
  async decide(
    tx: Tx,
    { id }: ApprovalRow,
    decision: Decision,
    by: { readonly userId: string; readonly note: string | null },
  ): Promise<void> {
    const [decided] = await tx.query<ApprovalRow>(
      `with decided as (
         update approvals set status = $3, decided_at = clock_timestamp(), decided_by = $4, decision_note = $5
          where workspace_id = $1 and id = $2 and status = 'pending' returning *
       ) select ${ROW} from decided p join agent_instances a on a.id = p.agent_id`,
      [tx.workspaceId, id, decision, by.userId, by.note],
    );
    if (decided === undefined) throw new OfficeError('already_decided', { status: (await this.find(tx, id))?.status });
    await this.dismissals.dismiss(tx, 'approval', id, { userId: by.userId });
    tx.emit('office.approval.resolved', { approval_id: id, type: decided.type, status: decided.status });
    tell(tx, decided, 'resolved');
  }

  /** Whoever asked, or was to be hired, is archived: nobody is left to grant it to. */
  async withdraw(tx: Tx, agentId: string): Promise<void> {
    const open = await tx.query<ApprovalRow>(
      `select ${ROW} from approvals p join agent_instances a on a.id = p.agent_id
        where p.workspace_id = $1 and p.status = 'pending' and (p.agent_id = $2 or (p.type = 'hire_agent' and p.target_id = $2))
        order by p.id for no key update of p`,
      [tx.workspaceId, agentId],
    );
    for (const row of open) await this.decide(tx, row, 'rejected', { userId: SYSTEM_USER_ID, note: null });
  }
}

function tell(tx: Tx, row: ApprovalRow, change: 'opened' | 'resolved'): void {
  tx.emit('office.inbox_item', {
    kind: 'approval',
    item_id: row.id,
    agent_id: row.agent_id,
    ...(row.task_id === null ? {} : { task_ids: [row.task_id] }),
    title: approvalTitle(row.agent_name, row.type, row.reason),
    change,
  });
}
