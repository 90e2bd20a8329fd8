import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { newId } from '../platform/ids.js';
import { RegisteredRepositories } from '../repositories/registered-repositories.js';
import { ProjectDesk } from '../workflow/project-desk.service.js';
import { WorkflowService } from '../workflow/workflow.service.js';
import { distinctIds } from './domain/blockers.js';
import { TaskBlockers } from './task-blockers.service.js';
import { TaskReactions } from './task-reactions.js';
import type { CreateTaskBody } from './task.dto.js';
import { TaskRepository } from './task.repository.js';

/** What one sees of a task is told as changed when it comes into being. */
const EVERY_FIELD = [
  'identifier',
  'title',
  'description',
  'state',
  'step',
  'priority',
  'assignee_agent_instance_id',
  'parent_id',
  'project_id',
  'blocked_by',
];

/** A new task, whoever asks for it. Part of the caller's transaction. */
@Injectable()
export class TaskIntake {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly blockers: TaskBlockers,
    private readonly workflows: WorkflowService,
    private readonly projects: ProjectDesk,
    private readonly agents: AgentService,
    private readonly reactions: TaskReactions,
    private readonly repositories: RegisteredRepositories,
  ) {}

  /** Answers its id. An assignee is woken. */
  async take(tx: Tx, workspaceId: string, input: CreateTaskBody, actor: Actor): Promise<string> {
    const id = newId();
    const assigneeId = input.assignee_agent_instance_id?.toLowerCase() ?? null;
    const parentId = input.parent_id?.toLowerCase() ?? null;
    const blockerIds = distinctIds(input.blocked_by ?? []);
    if (assigneeId !== null) await this.agents.assertAssignable(tx, workspaceId, assigneeId);
    if (parentId !== null && !(await this.tasks.exists(tx, workspaceId, parentId)))
      throw new OfficeError('not_found', { what: 'task', id: parentId });
    const repositoryId = input.repository_id?.toLowerCase() ?? null;
    if (repositoryId !== null) await this.repositories.assertRegistered(tx, workspaceId, repositoryId);
    // Held, so that whoever closes one of them meanwhile sees that this task waits for it.
    await this.tasks.hold(tx, workspaceId, blockerIds);
    const projectId = input.project_id?.toLowerCase() ?? null;
    if (projectId !== null) await this.projects.assertKnown(tx, workspaceId, projectId);
    const step = await this.workflows.whereTasksBegin(tx, workspaceId, input.workflow_id?.toLowerCase() ?? null);

    const named = await this.tasks.takeNumber(tx, workspaceId);
    if (!named) throw new OfficeError('not_found');
    await this.tasks.insert(
      tx,
      workspaceId,
      {
        id,
        title: input.title,
        description: input.description ?? null,
        priority: input.priority ?? 0,
        workflowId: step.workflow_id,
        stepId: step.id,
        projectId,
        assigneeId,
        parentId,
        repositoryId,
      },
      named,
      actor,
    );
    await this.tasks.recordStep(tx, workspaceId, id, { from: null, to: step.id }, actor);
    if (blockerIds.length > 0) await this.blockers.set(tx, workspaceId, id, blockerIds);
    tx.emit('office.task.updated', { task_id: id, fields: EVERY_FIELD });
    if (assigneeId !== null) {
      await this.agents.assertAssignable(tx, workspaceId, assigneeId);
      await this.reactions.assigneeChanged(tx, { id, workspaceId, assigneeId }, null, actor);
    }
    return id;
  }
}
