import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { WorkspaceFurnishing } from '../workspaces/workspace-furnishing.js';
import { OFFICE_WORKFLOW } from './domain/office-workflow.js';
import type { StepKind } from './domain/office-workflow.js';
import { WorkflowRepository } from './workflow.repository.js';
import type { Step } from './workflow.repository.js';

/** The way work goes: makes the Office workflow of a new workspace and says where its steps are. */
@Injectable()
export class WorkflowService extends WorkspaceFurnishing {
  constructor(private readonly workflows: WorkflowRepository) {
    super();
  }

  /** Part of making a workspace: its one Office workflow. */
  override furnish(tx: Tx, workspaceId: string): Promise<void> {
    return this.workflows.insertDefault(tx, workspaceId, OFFICE_WORKFLOW);
  }

  /** Where a new task stands. */
  async firstStepOfDefault(db: Reading, workspaceId: string): Promise<Step> {
    return known(await this.workflows.firstStepOfDefault(db, workspaceId), workspaceId);
  }

  async firstStep(db: Reading, workspaceId: string, workflowId: string): Promise<Step> {
    return known(await this.workflows.firstStep(db, workspaceId, workflowId), workflowId);
  }

  /** Where a new task of that workflow stands; null: of the Office's. Refuses a workflow there is not. */
  async whereTasksBegin(db: Reading, workspaceId: string, workflowId: string | null): Promise<Step> {
    if (workflowId === null) return this.firstStepOfDefault(db, workspaceId);
    const step = await this.workflows.firstStep(db, workspaceId, workflowId);
    if (step === null) throw new OfficeError('not_found', { what: 'workflow', id: workflowId });
    return step;
  }

  /** The first step of that kind; null where the workflow has none. */
  stepOfKind(db: Reading, workspaceId: string, workflowId: string, kind: StepKind): Promise<Step | null> {
    return this.workflows.stepOfKind(db, workspaceId, workflowId, kind);
  }
}

/** Every workspace is made with a workflow, and no workflow is without steps; without one the data is damaged. */
function known(step: Step | null, owner: string): Step {
  if (!step) throw new Error(`no workflow step for ${owner}`);
  return step;
}
