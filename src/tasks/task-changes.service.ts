import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { distinctIds } from './domain/blockers.js';
import type { Seat } from './domain/gate.js';
import { isClosed, TASK_STATE_SPELLINGS } from './domain/task-state.js';
import { GateRepository } from './gate.repository.js';
import { TaskBlockers } from './task-blockers.service.js';
import { asksOf, TaskMoves, type PlannedMove } from './task-moves.service.js';
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
    private readonly moves: TaskMoves,
    private readonly gates: GateRepository,
    private readonly agents: AgentService,
    private readonly reactions: TaskReactions,
  ) {}

  /**
   * Writes and tells exactly what is different, and lets the rooms above react; a change that changes nothing does none of it.
   * Answers the approvers who keep the task from being done, if that was asked for: what was done instead is to be committed,
   * and whoever asked told (`approvals_pending`).
   */
  async apply(tx: Tx, workspaceId: string, id: string, change: ChangeTaskBody, actor: Actor): Promise<readonly Seat[]> {
    if (change.blocked_by !== undefined) await this.blockers.lockWaits(tx, workspaceId);
    // A blocker that is closed at this moment is either seen closed here, or sees that this task waits for it.
    const reach = { closes: mayClose(change), blockers: distinctIds(change.blocked_by ?? []) };
    const task = await this.tasks.lockWith(tx, workspaceId, id, reach);
    const move = await this.moveOf(tx, task, change, actor);
    const columns = { ...(await this.differences(tx, task, change)), ...move?.columns };
    this.assertLive(task, columns);
    if (columns.assignee_agent_instance_id) await this.agents.assertAssignable(tx, workspaceId, columns.assignee_agent_instance_id);

    if (columns.state !== undefined) await this.tasks.signStateChange(tx, actor);
    if (Object.keys(columns).length > 0) await this.tasks.change(tx, task, columns);
    if (move) await this.moves.record(tx, task, move, actor);
    const blocked = change.blocked_by === undefined ? UNCHANGED : await this.blockers.change(tx, task, distinctIds(change.blocked_by));
    if (columns.assignee_agent_instance_id) await this.agents.assertAssignable(tx, workspaceId, columns.assignee_agent_instance_id);

    const fields = [...namesOf(columns), ...(blocked.changed ? ['blocked_by'] : [])];
    if (fields.length > 0) tx.emit('office.task.updated', { task_id: task.id, fields });
    await this.react(tx, task, columns, { move, freed: blocked.freed }, actor);
    return move?.missing ?? [];
  }

  /** Leaves a tombstone; afterwards there is no such task anywhere. */
  async remove(tx: Tx, workspaceId: string, id: string, actor: Actor): Promise<void> {
    const task = await this.tasks.lockWith(tx, workspaceId, id, { closes: true, blockers: [] });
    await this.gates.forget(tx, task);
    await this.tasks.bury(tx, task);
    tx.emit('office.task.updated', { task_id: task.id, fields: ['deleted'] });
    await this.reactions.closed(tx, { id: task.id, workspaceId, assigneeId: task.assignee_agent_instance_id }, 'deleted', actor);
  }

  private async differences(tx: Tx, task: LockedTask, change: ChangeTaskBody): Promise<TaskColumns> {
    const { title, description, priority, archived } = change;
    const assigneeId = change.assignee_agent_instance_id?.toLowerCase() ?? change.assignee_agent_instance_id;
    return {
      ...(title !== undefined && title !== task.title && { title }),
      ...(description !== undefined && (await this.tasks.describedOtherwise(tx, task, description)) && { description }),
      ...(priority !== undefined && priority !== task.priority && { priority }),
      ...(assigneeId !== undefined && assigneeId !== task.assignee_agent_instance_id && { assignee_agent_instance_id: assigneeId }),
      ...(archived !== undefined && archived !== task.archived && { archived }),
    };
  }

  /** Where the state that somebody says takes it: to a step, too. Null where it says nothing new. */
  private async moveOf(tx: Tx, task: LockedTask, change: ChangeTaskBody, actor: Actor): Promise<PlannedMove | null> {
    const to = change.state === undefined ? undefined : TASK_STATE_SPELLINGS.get(change.state)!;
    return to === undefined || to === task.state
      ? null
      : this.moves.plan(tx, task, { kind: 'state', to, by: actor.kind === 'agent' ? 'agent' : 'person' });
  }

  /** An archived task does not move, and nobody is put on a task that is over: nothing would come of it. */
  private assertLive(task: LockedTask, columns: TaskColumns): void {
    const archived = columns.archived ?? task.archived;
    const state = columns.state ?? task.state;
    const moves = columns.state !== undefined && archived && task.archived;
    const assigns = typeof columns.assignee_agent_instance_id === 'string' && (archived || isClosed(state));
    if (moves || assigns) throw new OfficeError('task_not_open', { state, archived });
  }

  private async react(
    tx: Tx,
    task: LockedTask,
    columns: TaskColumns,
    { move, freed }: { move: PlannedMove | null; freed: boolean },
    actor: Actor,
  ): Promise<void> {
    const assigneeId =
      columns.assignee_agent_instance_id === undefined ? task.assignee_agent_instance_id : columns.assignee_agent_instance_id;
    const changed = { id: task.id, workspaceId: task.workspace_id, assigneeId };
    const from = task.assignee_agent_instance_id;
    if (assigneeId !== from) await this.reactions.assigneeChanged(tx, changed, from, actor);
    const closing = closingOf(columns);
    if (move?.entersStep && closing === null) await this.reactions.stepEntered(tx, changed, asksOf(move), actor);
    if (closing !== null) await this.reactions.closed(tx, changed, closing, actor);
    else if (freed) await this.reactions.unblocked(tx, changed, actor);
    if (freed) tx.nudge('work');
  }
}

const UNCHANGED = { changed: false, freed: false };

const mayClose = ({ state, archived }: ChangeTaskBody): boolean =>
  archived === true || (state !== undefined && isClosed(TASK_STATE_SPELLINGS.get(state)!));

/** In the order in which they have always been told: what a move changes stands where the state stands. */
function namesOf(columns: TaskColumns): string[] {
  const order = ['title', 'description', 'state', 'step_id', 'priority', 'assignee_agent_instance_id', 'archived'];
  return order.filter((name) => name in columns).map((name) => WIRE_NAMES[name] ?? name);
}

/** The hardest of what closes the task, so that it is closed once. */
function closingOf({ archived, state }: TaskColumns): Closing | null {
  if (archived === true) return 'archived';
  if (state === 'CANCELLED') return 'cancelled';
  return state === 'DONE' ? 'done' : null;
}
