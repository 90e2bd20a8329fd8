import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { storableJson } from '../platform/text/storable.js';
import type { StepKind } from './domain/office-workflow.js';
import type { SeatView, WorkflowStepView } from './workflow.view.js';

export interface WorkflowRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly style: 'office' | 'kanban';
  readonly is_office_default: boolean;
  readonly created_at: Date;
  readonly steps: readonly (Omit<WorkflowStepView, 'seats'> & { readonly seats: readonly SeatView[] })[];
}

export interface StepRow {
  readonly id: string;
  readonly kind: StepKind;
  readonly requires_signal: boolean;
  readonly on_agent_error: { readonly target: string } | null;
}

export interface StepWrite {
  readonly id: string;
  readonly name: string;
  readonly kind: StepKind;
  readonly requiresSignal: boolean;
  readonly onAgentError: { readonly target: string } | null;
}

const WHOLE = `
  select workflow.id, workflow.workspace_id, workflow.name, workflow.style, workflow.is_office_default, workflow.created_at,
         coalesce((
           select jsonb_agg(jsonb_build_object('id', step.id, 'name', step.name, 'kind', step.kind, 'requires_signal', step.requires_signal,
                    'on_agent_error', step.on_agent_error, 'seats', coalesce((
                      select jsonb_agg(jsonb_build_object('id', seat.id, 'role', seat.role, 'agent_id', seat.agent_id, 'user_id', seat.user_id,
                               'name', coalesce(agent.name, person.name), 'decision_required', seat.decision_required) order by seat.id)
                        from workflow_step_participants seat
                        left join agent_instances agent on agent.id = seat.agent_id
                        left join users person on person.id = seat.user_id
                       where seat.step_id = step.id and seat.task_id is null), '[]')) order by step.position)
             from workflow_steps step where step.workflow_id = workflow.id), '[]') as steps
    from workflows workflow`;

/** What people see and write of workflows. */
@Injectable()
export class WorkflowDeskRepository {
  async find(db: Reading, workspaceId: string, id: string): Promise<WorkflowRow | null> {
    const [row] = await db.query<WorkflowRow>(`${WHOLE} where workflow.workspace_id = $1 and workflow.id = $2`, [workspaceId, id]);
    return row ?? null;
  }

  /** The oldest first. */
  list(db: Reading, workspaceId: string, page: { after: string | null; take: number }): Promise<WorkflowRow[]> {
    return db.query<WorkflowRow>(
      `${WHOLE} where workflow.workspace_id = $1 and ($2::uuid is null or workflow.id > $2) order by workflow.id limit $3`,
      [workspaceId, page.after, page.take],
    );
  }

  async insert(tx: Tx, workspaceId: string, workflow: { id: string; name: string; style: string }): Promise<void> {
    await tx.query(`insert into workflows (workspace_id, id, name, style) values ($1, $2, $3, $4)`, [
      workspaceId,
      workflow.id,
      workflow.name,
      workflow.style,
    ]);
  }

  /** Held against every other change of it, and against tasks that begin in it. */
  async lock(tx: Tx, workspaceId: string, id: string): Promise<{ id: string; is_office_default: boolean } | null> {
    const [workflow] = await tx.query<{ id: string; is_office_default: boolean }>(
      `select id, is_office_default from workflows where workspace_id = $1 and id = $2 for update`,
      [workspaceId, id],
    );
    return workflow ?? null;
  }

  async rename(tx: Tx, workspaceId: string, id: string, name: string): Promise<void> {
    await tx.query(`update workflows set name = $3 where workspace_id = $1 and id = $2`, [workspaceId, id, name]);
  }

  /** Locked: no task comes to one of them meanwhile. */
  steps(tx: Tx, workspaceId: string, workflowId: string): Promise<StepRow[]> {
    return tx.query<StepRow>(
      `select id, kind, requires_signal, on_agent_error from workflow_steps where workspace_id = $1 and workflow_id = $2
        order by id for update`,
      [workspaceId, workflowId],
    );
  }

  /** Those of the steps that a task stands on, or has stood on. */
  async usedOf(db: Reading, workspaceId: string, stepIds: readonly string[]): Promise<string[]> {
    const rows = await db.query<{ id: string; name: string }>(
      `select step.id from workflow_steps step where step.workspace_id = $1 and step.id = any($2::uuid[])
          and (exists (select from tasks where tasks.step_id = step.id)
               or exists (select from task_step_transitions moved where moved.workspace_id = $1 and step.id in (moved.from_step_id, moved.to_step_id)))`,
      [workspaceId, stepIds],
    );
    return rows.map(({ id }) => id);
  }

  async isUsed(db: Reading, workspaceId: string, id: string): Promise<boolean> {
    const rows = await db.query(`select 1 from tasks where workspace_id = $1 and workflow_id = $2 limit 1`, [workspaceId, id]);
    return rows.length > 0;
  }

  async removeSteps(tx: Tx, workspaceId: string, stepIds: readonly string[]): Promise<void> {
    await tx.query(`delete from workflow_steps where workspace_id = $1 and id = any($2::uuid[])`, [workspaceId, stepIds]);
  }

  /** Makes these, in this order, the steps of the workflow; the others have been removed. */
  async writeSteps(tx: Tx, workspaceId: string, workflowId: string, steps: readonly StepWrite[]): Promise<void> {
    // Out of each other's way first: a place is taken by one step only.
    await tx.query(`update workflow_steps set position = -position where workspace_id = $1 and workflow_id = $2`, [
      workspaceId,
      workflowId,
    ]);
    await tx.query(
      `insert into workflow_steps (workspace_id, workflow_id, id, position, name, kind, requires_signal, on_agent_error)
       select $1, $2, plan.id, plan.place, plan.name, plan.kind, plan.requires_signal, plan.on_agent_error
         from unnest($3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::jsonb[])
              with ordinality as plan (id, name, kind, requires_signal, on_agent_error, place)
       on conflict (id) do update set position = excluded.position, name = excluded.name, requires_signal = excluded.requires_signal,
                                      on_agent_error = excluded.on_agent_error`,
      [
        workspaceId,
        workflowId,
        steps.map(({ id }) => id),
        steps.map(({ name }) => name),
        steps.map(({ kind }) => kind),
        steps.map(({ requiresSignal }) => requiresSignal),
        steps.map(({ onAgentError }) => (onAgentError === null ? null : storableJson(onAgentError))),
      ],
    );
  }

  async remove(tx: Tx, workspaceId: string, id: string): Promise<void> {
    await tx.query(`delete from workflows where workspace_id = $1 and id = $2`, [workspaceId, id]);
  }
}
