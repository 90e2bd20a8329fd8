import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Tx } from '../platform/database/tx.js';
import { SYSTEM_USER_ID } from '../platform/ids.js';
import type { FencedRun } from '../runs/fenced-run.js';
import { noteRun } from '../runs/run-notes.js';
import { askedTitle } from './domain/item-title.js';
import type { PermissionDecision } from './domain/permission-decision.js';

export interface AskedPermission {
  readonly requestId: string;
  readonly title: string;
  readonly kind: string | null;
  readonly input: string | null;
  /** Equal for requests for the same thing. */
  readonly subject: string;
}

/**
 * `opened`: somebody has to answer. `granted`: an admin has allowed exactly this for good. `refused`: the run is not ours any
 * more, is being stopped, or has asked more than anybody could answer.
 */
export type Opened = 'opened' | 'granted' | 'refused';

/** `gone`: there is nobody who waits for an answer. Otherwise the decision that stands, and whether it is this one's doing. */
export type Answered = 'gone' | { readonly decision: PermissionDecision; readonly now: boolean };

/** A run that asks more often than this is not asking people any more. */
const MOST_OF_A_RUN = 1_000;

interface AskedRow {
  readonly id: string;
  readonly run_id: string;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly task_id: string | null;
  readonly identifier: string | null;
  readonly title: string;
}

const NAMES = `c.id, c.run_id, c.agent_id, c.task_id, c.title, (select name from agent_instances where id = c.agent_id) as agent_name,
  (select identifier from tasks where id = c.task_id) as identifier`;

/**
 * Permission requests that wait for a person (contract 12). The row is the truth: whoever closes it first, a person, its time or
 * the end of its run, decides, and the owner of the run hands that to the agent. The run's row is locked before the request's.
 */
@Injectable()
export class PermissionRequests {
  /** Fenced: only while the run runs at this generation and nobody wants it stopped. */
  async open(tx: Tx, run: FencedRun, asked: AskedPermission, waitSec: number): Promise<Opened> {
    const subject = subjectOf(asked.subject);
    const [ours] = await tx.query<{ granted: boolean; many: boolean }>(
      `with held as materialized (
         select id, agent_id from runs where workspace_id = $1 and id = $2 and generation = $3 and status = 'running'
            and stop_requested_at is null for no key update
       )
       select exists (select from permission_grants g where g.agent_id = held.agent_id and g.subject = $4) as granted,
              (select count(*) from permission_requests p where p.run_id = held.id) >= ${MOST_OF_A_RUN} as many
         from held`,
      [tx.workspaceId, run.runId, run.generation, subject],
    );
    if (ours === undefined) return 'refused';
    if (ours.granted || ours.many) {
      const decision = ours.granted ? 'allow_always' : 'deny';
      await noteRun(tx, run.runId, 'permission.answered', 'info', { request_id: asked.requestId, title: asked.title, decision, by: null });
      return ours.granted ? 'granted' : 'refused';
    }
    const [row] = await tx.query<AskedRow>(
      `with c as (
         insert into permission_requests (id, workspace_id, run_id, agent_id, task_id, title, tool_kind, input, subject, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + make_interval(secs => $10))
         on conflict do nothing returning *
       ) select ${NAMES} from c`,
      [asked.requestId, tx.workspaceId, run.runId, run.agentId, run.taskId, asked.title, asked.kind, asked.input, subject, waitSec],
    );
    // A repetition of an insert whose answer was lost.
    if (row === undefined) return 'opened';
    await noteRun(tx, run.runId, 'permission.requested', 'info', { request_id: row.id, title: row.title });
    tell(tx, row, 'opened');
    return 'opened';
  }

  /** A person's answer. `allow_always` is remembered for the agent; who may say so is the caller's business. */
  async answer(tx: Tx, requestId: string, decision: PermissionDecision, userId: string): Promise<Answered | null> {
    const run = await this.lockRun(tx, requestId);
    if (run === null) return null;
    const row = run.waits ? await this.close(tx, requestId, decision, userId, 'p.expires_at > clock_timestamp()') : null;
    if (row === null) return this.standing(tx, requestId);
    if (decision === 'allow_always') await this.remember(tx, requestId, userId);
    return { decision, now: true };
  }

  /** Its time is over: denied, by the office. False: somebody had answered. */
  async expire(tx: Tx, requestId: string): Promise<boolean> {
    await this.lockRun(tx, requestId);
    return (await this.close(tx, requestId, 'deny', null, 'p.expires_at <= clock_timestamp()')) !== null;
  }

  /** The agent does not wait any more: it took the request back, or its turn is over. */
  async withdraw(tx: Tx, requestId: string): Promise<void> {
    await this.lockRun(tx, requestId);
    await this.close(tx, requestId, null, null, 'true');
  }

  /** Null: there is no such request. */
  private async lockRun(tx: Tx, requestId: string): Promise<{ waits: boolean } | null> {
    const [run] = await tx.query<{ waits: boolean }>(
      `select status = 'running' and stop_requested_at is null as waits from runs
        where workspace_id = $1 and id = (select run_id from permission_requests where workspace_id = $1 and id = $2) for no key update`,
      [tx.workspaceId, requestId],
    );
    return run ?? null;
  }

  private async close(
    tx: Tx,
    requestId: string,
    decision: PermissionDecision | null,
    userId: string | null,
    when: string,
  ): Promise<AskedRow | null> {
    const [row] = await tx.query<AskedRow>(
      `with c as (
         update permission_requests p set decision = $3, decided_by = $4, closed_at = clock_timestamp()
          where p.workspace_id = $1 and p.id = $2 and p.closed_at is null and ${when} returning *
       ), gone as (
         insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id)
         select coalesce($4, $5), 'permission_request', c.id, $1 from c on conflict do nothing
       ) select ${NAMES} from c`,
      [tx.workspaceId, requestId, decision, userId, SYSTEM_USER_ID],
    );
    if (row === undefined) return null;
    await noteRun(tx, row.run_id, 'permission.answered', 'info', { request_id: row.id, title: row.title, decision, by: userId });
    tell(tx, row, 'resolved');
    tx.nudge('permission');
    return row;
  }

  private async standing(tx: Tx, requestId: string): Promise<Answered> {
    const [row] = await tx.query<{ decision: PermissionDecision | null }>(`select decision from permission_requests where id = $1`, [
      requestId,
    ]);
    return row?.decision == null ? 'gone' : { decision: row.decision, now: false };
  }

  private async remember(tx: Tx, requestId: string, userId: string): Promise<void> {
    await tx.query(
      `insert into permission_grants (workspace_id, agent_id, subject, title, granted_by)
       select workspace_id, agent_id, subject, title, $3 from permission_requests where workspace_id = $1 and id = $2
       on conflict do nothing`,
      [tx.workspaceId, requestId, userId],
    );
  }
}

/** A request goes with its run. Called by whoever ends the run, under its lock; `asks` of the locked run says whether there are any. */
export async function closeRequestsOf(tx: Tx, runId: string): Promise<void> {
  const closed = await tx.query<AskedRow>(
    `with c as (
       update permission_requests p set closed_at = clock_timestamp()
        where p.workspace_id = $1 and p.run_id = $2 and p.closed_at is null returning *
     ), gone as (
       insert into inbox_dismissals (user_id, item_kind, item_id, workspace_id)
       select $3, 'permission_request', c.id, $1 from c on conflict do nothing
     ) select ${NAMES} from c order by c.id`,
    [tx.workspaceId, runId, SYSTEM_USER_ID],
  );
  for (const row of closed) tell(tx, row, 'resolved');
}

const subjectOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function tell(tx: Tx, row: AskedRow, change: 'opened' | 'resolved'): void {
  const task = row.identifier === null ? null : { identifier: row.identifier, title: '' };
  tx.emit('office.inbox_item', {
    kind: 'permission_request',
    item_id: row.id,
    agent_id: row.agent_id,
    ...(row.task_id === null ? {} : { task_ids: [row.task_id] }),
    title: askedTitle(row.agent_name, row.title, task),
    change,
  });
}
