import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { seatHolds } from '../workflow/domain/seat.js';
import type { ActiveDecision, DecisionWord, Seat, Walk } from './domain/gate.js';
import type { LockedTask } from './task.repository.js';

export interface DecisionRow {
  readonly id: string;
  readonly decision: DecisionWord;
  readonly note: string | null;
  readonly decided_at: Date;
}

const WALK = `
  select (select coalesce(jsonb_agg(jsonb_build_object('id', step.id, 'name', step.name, 'kind', step.kind,
                   'requiresSignal', step.requires_signal) order by step.position), '[]')
            from workflow_steps step where step.workspace_id = $1 and step.workflow_id = $2) as steps,
         (select coalesce(jsonb_agg(jsonb_build_object('id', seat.id, 'stepId', seat.step_id, 'agentId', seat.agent_id,
                   'userId', seat.user_id, 'name', coalesce(agent.name, person.name), 'role', seat.role,
                   'decisionRequired', seat.decision_required) order by seat.id), '[]')
            from workflow_step_participants seat
            left join agent_instances agent on agent.id = seat.agent_id
            left join users person on person.id = seat.user_id
           where seat.workspace_id = $1 and ${seatHolds('$3')}
             and seat.step_id in (select step.id from workflow_steps step where step.workspace_id = $1 and step.workflow_id = $2)) as seats,
         (select coalesce(jsonb_agg(jsonb_build_object('stepId', made.step_id, 'agentId', made.agent_id, 'userId', made.user_id,
                   'decision', made.decision, 'note', made.note) order by made.id), '[]')
            from task_step_decisions made
           where made.workspace_id = $1 and made.task_id = $3 and made.superseded_at is null) as decisions`;

/** The rows of `workflow_step_participants` and `task_step_decisions`. */
@Injectable()
export class GateRepository {
  async walkOf(db: Reading, task: Pick<LockedTask, 'workspace_id' | 'workflow_id' | 'id'>): Promise<Walk> {
    const [walk] = await db.prepared<Walk>(WALK, [task.workspace_id, task.workflow_id, task.id]);
    return walk!;
  }

  /** Decisions on the task at these steps hold no longer. */
  async supersede(tx: Tx, task: LockedTask, stepIds: readonly string[]): Promise<void> {
    if (stepIds.length === 0) return;
    await tx.query(
      `update task_step_decisions set superseded_at = clock_timestamp()
        where workspace_id = $1 and task_id = $2 and step_id = any($3::uuid[]) and superseded_at is null`,
      [task.workspace_id, task.id, stepIds],
    );
  }

  /** A holder's decision; an earlier one at the step is superseded by it. */
  async decide(
    tx: Tx,
    task: LockedTask,
    seat: Seat,
    made: Pick<ActiveDecision, 'decision' | 'note'>,
    by: Exclude<Actor, { kind: 'system' }>,
  ): Promise<DecisionRow> {
    const holder = [task.workspace_id, task.id, seat.stepId, seat.agentId, seat.userId];
    await tx.query(
      `update task_step_decisions set superseded_at = clock_timestamp()
        where workspace_id = $1 and task_id = $2 and step_id = $3 and agent_id is not distinct from $4 and user_id is not distinct from $5
          and superseded_at is null`,
      holder,
    );
    const [row] = await tx.query<DecisionRow>(
      `insert into task_step_decisions (workspace_id, task_id, step_id, agent_id, user_id, id, role, decision, note, decided_by_kind,
                                        decided_by_id, run_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id, decision, note, decided_at`,
      [...holder, newId(), seat.role, made.decision, made.note, by.kind, by.id, by.kind === 'agent' ? by.runId : null],
    );
    return row!;
  }

  async activeDecision(db: Reading, task: LockedTask, seat: Seat): Promise<DecisionRow | null> {
    const [row] = await db.query<DecisionRow>(
      `select id, decision, note, decided_at from task_step_decisions
        where workspace_id = $1 and task_id = $2 and step_id = $3 and agent_id is not distinct from $4 and user_id is not distinct from $5
          and superseded_at is null`,
      [task.workspace_id, task.id, seat.stepId, seat.agentId, seat.userId],
    );
    return row ?? null;
  }

  async isAdmin(db: Reading, workspaceId: string, userId: string): Promise<boolean> {
    const rows = await db.query(`select 1 from workspace_members where workspace_id = $1 and user_id = $2 and role = 'admin'`, [
      workspaceId,
      userId,
    ]);
    return rows.length > 0;
  }

  /** Of a task that is being deleted: its own seats go, and what was said with its decisions. */
  async forget(tx: Tx, task: LockedTask): Promise<void> {
    const it = [task.workspace_id, task.id];
    await tx.query(`delete from workflow_step_participants where workspace_id = $1 and task_id = $2`, it);
    await tx.query(`update task_step_decisions set note = null where workspace_id = $1 and task_id = $2 and note is not null`, it);
  }
}
