import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import { outside, type Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { invalid } from '../platform/http/input-validation.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom, type Page } from '../platform/http/page.view.js';
import { newId } from '../platform/ids.js';
import { problemsOf } from './domain/workflow-plan.js';
import { SeatService } from './seat.service.js';
import { WorkflowDeskRepository, type StepRow, type StepWrite, type WorkflowRow } from './workflow-desk.repository.js';
import { seatPlan, type ChangeStepBody, type ChangeWorkflowBody, type CreateWorkflowBody } from './workflow.dto.js';
import type { WorkflowView } from './workflow.view.js';

/** Where admins say how work goes. */
@Injectable()
export class WorkflowDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly workflows: WorkflowDeskRepository,
    private readonly seats: SeatService,
    private readonly agents: AgentService,
  ) {}

  /** Part of an idempotent command. */
  async create(tx: Tx, workspaceId: string, { name, style, steps }: CreateWorkflowBody): Promise<WorkflowView> {
    const id = newId();
    await this.workflows.insert(tx, workspaceId, { id, name, style });
    await this.write(tx, workspaceId, id, steps, []);
    return this.one(tx, workspaceId, id);
  }

  get(workspaceId: string, id: string): Promise<WorkflowView> {
    return this.one(outside(this.unitOfWork), workspaceId, id);
  }

  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<Page<WorkflowView>> {
    const rows = await this.workflows.list(outside(this.unitOfWork), workspaceId, { after: decodeCursor(cursor), take: limit + 1 });
    return pageFrom(rows, limit, ({ id }) => id, viewWorkflow);
  }

  change(workspaceId: string, id: string, { name, steps }: ChangeWorkflowBody): Promise<WorkflowView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      if (!(await this.workflows.lock(tx, workspaceId, id))) throw new OfficeError('not_found');
      if (name !== undefined) await this.workflows.rename(tx, workspaceId, id, name);
      if (steps !== undefined) await this.write(tx, workspaceId, id, steps, await this.workflows.steps(tx, workspaceId, id));
      return this.one(tx, workspaceId, id);
    });
  }

  remove(workspaceId: string, id: string): Promise<void> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const workflow = await this.workflows.lock(tx, workspaceId, id);
      if (!workflow) throw new OfficeError('not_found');
      if (workflow.is_office_default) throw new OfficeError('office_workflow_fixed');
      if (await this.workflows.isUsed(tx, workspaceId, id)) throw new OfficeError('workflow_in_use');
      const steps = (await this.workflows.steps(tx, workspaceId, id)).map((step) => step.id);
      await this.seats.removeAllOf(tx, steps);
      await this.workflows.removeSteps(tx, workspaceId, steps);
      await this.workflows.remove(tx, workspaceId, id);
    });
  }

  /** Makes these the steps of the workflow, in this order. */
  private async write(
    tx: Tx,
    workspaceId: string,
    id: string,
    bodies: readonly ChangeStepBody[],
    before: readonly StepRow[],
  ): Promise<void> {
    const known = new Map(before.map((step) => [step.id, step]));
    const sketches = bodies.map((body) => ({ id: body.id?.toLowerCase(), kind: body.kind, seats: body.seats?.map(seatPlan) }));
    const problems = problemsOf(sketches);
    if (problems.length > 0) throw invalid(problems);
    for (const { id: stepId, kind } of sketches) {
      if (stepId === undefined) continue;
      const step = known.get(stepId);
      if (step === undefined) throw new OfficeError('not_found', { what: 'step', id: stepId });
      if (step.kind !== kind) throw new OfficeError('step_kind_fixed', { step_id: stepId, kind: step.kind });
    }
    const writes = bodies.map((body, place) => stepWrite(body, known.get(sketches[place]!.id ?? '')));
    for (const { onAgentError } of writes) await this.assertCoordinator(tx, workspaceId, onAgentError);
    const kept = new Set(writes.map((step) => step.id));
    await this.removeSteps(
      tx,
      workspaceId,
      before.filter((step) => !kept.has(step.id)).map((step) => step.id),
    );
    await this.workflows.writeSteps(tx, workspaceId, id, writes);
    for (const [place, { seats }] of sketches.entries()) {
      if (seats !== undefined) await this.seats.replaceOfStep(tx, writes[place]!.id, seats);
    }
  }

  private async removeSteps(tx: Tx, workspaceId: string, gone: readonly string[]): Promise<void> {
    if (gone.length === 0) return;
    const used = await this.workflows.usedOf(tx, workspaceId, gone);
    if (used.length > 0) throw new OfficeError('step_in_use', { step_ids: used });
    await this.seats.removeAllOf(tx, gone);
    await this.workflows.removeSteps(tx, workspaceId, gone);
  }

  private async assertCoordinator(tx: Tx, workspaceId: string, target: { readonly target: string } | null): Promise<void> {
    if (target !== null && target.target !== 'ceo') await this.agents.assertAssignable(tx, workspaceId, target.target);
  }

  private async one(db: Reading, workspaceId: string, id: string): Promise<WorkflowView> {
    const row = await this.workflows.find(db, workspaceId, id);
    if (!row) throw new OfficeError('not_found');
    return viewWorkflow(row);
  }
}

function stepWrite(body: ChangeStepBody, before: StepRow | undefined): StepWrite {
  const { name, kind, requires_signal, on_agent_error } = body;
  return {
    id: before?.id ?? newId(),
    name,
    kind,
    requiresSignal: requires_signal ?? before?.requires_signal ?? kind === 'work',
    onAgentError: on_agent_error === undefined ? (before?.on_agent_error ?? null) : on_agent_error && { target: on_agent_error.target },
  };
}

const viewWorkflow = (row: WorkflowRow): WorkflowView => ({
  id: row.id,
  workspace_id: row.workspace_id,
  name: row.name,
  style: row.style,
  is_office_default: row.is_office_default,
  steps: row.steps.map((step) => ({ ...step, seats: [...step.seats] })),
  created_at: row.created_at.toISOString(),
});
