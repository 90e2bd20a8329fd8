import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { newId } from '../platform/ids.js';
import { storableJson } from '../platform/text/storable.js';
import type { StepKind, StepPlan } from './domain/office-workflow.js';

/** A place in a workflow, as other rooms see it. */
export interface Step {
  readonly id: string;
  readonly workflow_id: string;
  readonly name: string;
  readonly kind: StepKind;
}

const STEP = 'step.id, step.workflow_id, step.name, step.kind';

/** The rows of `workflows` and `workflow_steps`. */
@Injectable()
export class WorkflowRepository {
  async insertDefault(tx: Tx, workspaceId: string, workflow: { name: string; style: string; steps: readonly StepPlan[] }): Promise<void> {
    const workflowId = newId();
    await tx.query(`insert into workflows (id, workspace_id, name, style, is_office_default) values ($1, $2, $3, $4, true)`, [
      workflowId,
      workspaceId,
      workflow.name,
      workflow.style,
    ]);
    await tx.query(
      `insert into workflow_steps (id, workspace_id, workflow_id, position, name, kind, requires_signal, on_agent_error)
       select plan.id, $1, $2, plan.place, plan.name, plan.kind, plan.requires_signal, plan.on_agent_error
         from unnest($3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::jsonb[])
              with ordinality as plan (id, name, kind, requires_signal, on_agent_error, place)`,
      [
        workspaceId,
        workflowId,
        workflow.steps.map(() => newId()),
        workflow.steps.map(({ name }) => name),
        workflow.steps.map(({ kind }) => kind),
        workflow.steps.map(({ requiresSignal }) => requiresSignal),
        workflow.steps.map(({ onAgentError }) => (onAgentError === null ? null : storableJson(onAgentError))),
      ],
    );
  }

  /** Where tasks begin in the Office workflow of a workspace. */
  async firstStepOfDefault(db: Reading, workspaceId: string): Promise<Step | null> {
    const [step] = await db.query<Step>(
      `select ${STEP} from workflow_steps step
         join workflows workflow on workflow.workspace_id = step.workspace_id and workflow.id = step.workflow_id
        where step.workspace_id = $1 and workflow.is_office_default
        order by step.position limit 1`,
      [workspaceId],
    );
    return step ?? null;
  }

  async firstStep(db: Reading, workspaceId: string, workflowId: string): Promise<Step | null> {
    const [step] = await db.query<Step>(
      `select ${STEP} from workflow_steps step where step.workspace_id = $1 and step.workflow_id = $2 order by step.position limit 1`,
      [workspaceId, workflowId],
    );
    return step ?? null;
  }

  /** The first step of a kind, or null where the workflow has none. */
  async stepOfKind(db: Reading, workspaceId: string, workflowId: string, kind: StepKind): Promise<Step | null> {
    const [step] = await db.query<Step>(
      `select ${STEP} from workflow_steps step
        where step.workspace_id = $1 and step.workflow_id = $2 and step.kind = $3
        order by step.position limit 1`,
      [workspaceId, workflowId, kind],
    );
    return step ?? null;
  }
}
