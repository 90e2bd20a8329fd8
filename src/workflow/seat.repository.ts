import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import type { Holder, SeatPlan } from './domain/seat.js';

/** Where a seat is. `taskId` null: at every task that comes to the step. */
export interface SeatPlace {
  readonly stepId: string;
  readonly taskId: string | null;
}

/** The rows of `workflow_step_participants`. */
@Injectable()
export class SeatRepository {
  /** Gives the holder this seat, in place of the one they may have there. */
  async put(tx: Tx, { stepId, taskId }: SeatPlace, seat: SeatPlan): Promise<void> {
    await tx.query(
      `insert into workflow_step_participants (workspace_id, step_id, task_id, agent_id, user_id, id, role, decision_required)
       values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (step_id, task_id, agent_id, user_id) do update set role = excluded.role, decision_required = excluded.decision_required`,
      [tx.workspaceId, stepId, taskId, seat.agentId, seat.userId, newId(), seat.role, seat.decisionRequired],
    );
  }

  /** False: the holder had no seat there. */
  async remove(tx: Tx, { stepId, taskId }: SeatPlace, { agentId, userId }: Holder): Promise<boolean> {
    const removed = await tx.query(
      `delete from workflow_step_participants
        where workspace_id = $1 and step_id = $2 and task_id is not distinct from $3 and agent_id is not distinct from $4
          and user_id is not distinct from $5 returning id`,
      [tx.workspaceId, stepId, taskId, agentId, userId],
    );
    return removed.length > 0;
  }

  /** Makes these the seats of the step itself, and no others. */
  async replaceOfStep(tx: Tx, stepId: string, seats: readonly SeatPlan[]): Promise<void> {
    await tx.query(
      `delete from workflow_step_participants seat
        where seat.workspace_id = $1 and seat.step_id = $2 and seat.task_id is null
          and not exists (select from unnest($3::uuid[], $4::uuid[]) as kept (agent_id, user_id)
                           where kept.agent_id is not distinct from seat.agent_id and kept.user_id is not distinct from seat.user_id)`,
      [tx.workspaceId, stepId, seats.map(({ agentId }) => agentId), seats.map(({ userId }) => userId)],
    );
    for (const seat of seats) await this.put(tx, { stepId, taskId: null }, seat);
  }

  async removeAllOf(tx: Tx, stepIds: readonly string[]): Promise<void> {
    await tx.query(`delete from workflow_step_participants where workspace_id = $1 and step_id = any($2::uuid[])`, [
      tx.workspaceId,
      stepIds,
    ]);
  }

  /** Whether the person has a role in the workspace. */
  async isMember(db: Reading, workspaceId: string, userId: string): Promise<boolean> {
    const rows = await db.query(`select 1 from workspace_members where workspace_id = $1 and user_id = $2`, [workspaceId, userId]);
    return rows.length > 0;
  }
}
