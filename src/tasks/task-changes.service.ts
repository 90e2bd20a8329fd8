import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { WorkflowService } from '../workflow/workflow.service.js';
import { distinctIds } from './domain/blockers.js';
import { isClosed, mayMoveTask, TASK_STATE_SPELLINGS } from './domain/task-state.js';
import type { TaskState } from './domain/task-state.js';
import { TaskBlockers } from './task-blockers.service.js';
import { TaskReactions } from './task-reactions.js';
import type { Closing } from './task-reactions.js';
import type { ChangeTaskBody } from './task.dto.js';
import { TaskRepository } from './task.repository.js';
import type { LockedTask, TaskColumns } from './task.repository.js';

/** What a column is called on the wire, where it is called otherwise. */
const WIRE_NAMES: Readonly<Record<string, string>> = { step_id: 'step' };

/** What people change of a task. Every method is a part of the caller's transaction. */
@Injectable()
export class TaskChanges {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly blockers: TaskBlockers,
    private readonly workflows: WorkflowService,
    private readonly agents: AgentService,
    private readonly reactions: TaskReactions,
  ) {}

  /** Writes and tells exactly what is different, and lets the rooms above react; a change that changes nothing does none of it. */
  async apply(tx: Tx, workspaceId: string, id: string, change: ChangeTaskBody, actor: Actor): Promise<void> {
    if (change.blocked_by !== undefined) await this.blockers.lockWaits(tx, workspaceId);
    // A blocker that is closed at this moment is either seen closed here, or sees that this task waits for it.
    const reach = { closes: mayClose(change), blockers: distinctIds(change.blocked_by ?? []) };
    const task = await this.tasks.lockWith(tx, workspaceId, id, reach);
    const columns = await this.differences(tx, task, change, actor);
    this.assertLive(task, columns);
    if (columns.assignee_agent_instance_id) await this.agents.assertAssignable(tx, workspaceId, columns.assignee_agent_instance_id);

    if (columns.state !== undefined) await this.tasks.signStateChange(tx, actor);
    if (Object.keys(columns).length > 0) await this.tasks.change(tx, task, columns);
    if (columns.step_id) await this.tasks.recordStep(tx, workspaceId, task.id, { from: task.step_id, to: columns.step_id }, actor);
    const blocked = change.blocked_by === undefined ? UNCHANGED : await this.blockers.change(tx, task, distinctIds(change.blocked_by));
    if (columns.assignee_agent_instance_id) await this.agents.assertAssignable(tx, workspaceId, columns.assignee_agent_instance_id);

    const fields = [...Object.keys(columns).map((name) => WIRE_NAMES[name] ?? name), ...(blocked.changed ? ['blocked_by'] : [])];
    if (fields.length > 0) tx.emit('office.task.updated', { task_id: task.id, fields });
    await this.react(tx, task, columns, blocked.freed, actor);
  }

  /** Leaves a tombstone; afterwards there is no such task anywhere. */
  async remove(tx: Tx, workspaceId: string, id: string, actor: Actor): Promise<void> {
    const task = await this.tasks.lockWith(tx, workspaceId, id, { closes: true, blockers: [] });
    await this.tasks.bury(tx, task);
    tx.emit('office.task.updated', { task_id: task.id, fields: ['deleted'] });
    await this.reactions.closed(tx, { id: task.id, workspaceId, assigneeId: task.assignee_agent_instance_id }, 'deleted', actor);
  }

  private async differences(tx: Tx, task: LockedTask, change: ChangeTaskBody, actor: Actor): Promise<TaskColumns> {
    const { title, description, priority, archived } = change;
    const assigneeId = change.assignee_agent_instance_id?.toLowerCase() ?? change.assignee_agent_instance_id;
    const state = change.state === undefined ? undefined : TASK_STATE_SPELLINGS.get(change.state)!;
    return {
      ...(title !== undefined && title !== task.title && { title }),
      ...(description !== undefined && (await this.tasks.describedOtherwise(tx, task, description)) && { description }),
      ...(state !== undefined && state !== task.state && (await this.moveTo(tx, task, state, actor))),
      ...(priority !== undefined && priority !== task.priority && { priority }),
      ...(assigneeId !== undefined && assigneeId !== task.assignee_agent_instance_id && { assignee_agent_instance_id: assigneeId }),
      ...(archived !== undefined && archived !== task.archived && { archived }),
    };
  }

  /** A state and, where it closes or reopens the task, the step that goes with it. */
  private async moveTo(tx: Tx, task: LockedTask, to: TaskState, actor: Actor): Promise<TaskColumns> {
    const mover = actor.kind === 'agent' ? 'agent' : 'person';
    if (!mayMoveTask({ state: task.state, reviewAfterFailure: task.review_after_failure }, to, mover)) {
      throw new OfficeError('illegal_transition', { from: task.state, to });
    }
    const { workspace_id: workspaceId, workflow_id: workflowId } = task;
    const step =
      to === 'DONE'
        ? await this.workflows.stepOfKind(tx, workspaceId, workflowId, 'done')
        : task.state === 'DONE'
          ? await this.workflows.firstStep(tx, workspaceId, workflowId)
          : null;
    return { state: to, ...(step !== null && step.id !== task.step_id && { step_id: step.id }) };
  }

  /** An archived task does not move, and nobody is put on a task that is over: nothing would come of it. */
  private assertLive(task: LockedTask, columns: TaskColumns): void {
    const archived = columns.archived ?? task.archived;
    const state = columns.state ?? task.state;
    const moves = columns.state !== undefined && archived && task.archived;
    const assigns = typeof columns.assignee_agent_instance_id === 'string' && (archived || isClosed(state));
    if (moves || assigns) throw new OfficeError('task_not_open', { state, archived });
  }

  private async react(tx: Tx, task: LockedTask, columns: TaskColumns, freed: boolean, actor: Actor): Promise<void> {
    const assigneeId =
      columns.assignee_agent_instance_id === undefined ? task.assignee_agent_instance_id : columns.assignee_agent_instance_id;
    const changed = { id: task.id, workspaceId: task.workspace_id, assigneeId };
    const from = task.assignee_agent_instance_id;
    if (assigneeId !== from) await this.reactions.assigneeChanged(tx, changed, from, actor);
    const closing = closingOf(columns);
    if (closing !== null) await this.reactions.closed(tx, changed, closing, actor);
    else if (freed) await this.reactions.unblocked(tx, changed, actor);
    if (freed) tx.nudge('work');
  }
}

const UNCHANGED = { changed: false, freed: false };

const mayClose = ({ state, archived }: ChangeTaskBody): boolean =>
  archived === true || (state !== undefined && isClosed(TASK_STATE_SPELLINGS.get(state)!));

/** The hardest of what closes the task, so that it is closed once. */
function closingOf({ archived, state }: TaskColumns): Closing | null {
  if (archived === true) return 'archived';
  if (state === 'CANCELLED') return 'cancelled';
  return state === 'DONE' ? 'done' : null;
}
