import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import type { Seat, Walk } from './domain/gate.js';
import { seatsAt } from './domain/gate.js';
import { planMove, type Move, type MoveCause } from './domain/task-move.js';
import type { StepAsks } from './task-reactions.js';
import { GateRepository } from './gate.repository.js';
import { TaskRepository } from './task.repository.js';
import type { LockedTask, TaskColumns } from './task.repository.js';

/** A move as it is to be, or was, made. */
export interface PlannedMove extends Move {
  /** What of the task's row is different then. */
  readonly columns: Pick<TaskColumns, 'state' | 'step_id'>;
  readonly entersStep: boolean;
  /** The seats of the gate it comes to whose holders are asked. */
  readonly asks: readonly Seat[];
}

/** Moves tasks through their workflow. Every method is a part of a transaction that holds the task. */
@Injectable()
export class TaskMoves {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly gates: GateRepository,
  ) {}

  walkOf(tx: Tx, task: LockedTask): Promise<Walk> {
    return this.gates.walkOf(tx, task);
  }

  /** What the cause makes of the task; writes nothing. Refuses what may not be. */
  async plan(tx: Tx, task: LockedTask, cause: MoveCause, walk?: Walk): Promise<PlannedMove> {
    const way = walk ?? (await this.gates.walkOf(tx, task));
    const move = planMove({ state: task.state, reviewAfterFailure: task.review_after_failure, stepId: task.step_id }, way, cause);
    const entersStep = move.stepId !== task.step_id;
    return {
      ...move,
      entersStep,
      columns: { ...(move.state !== task.state && { state: move.state }), ...(entersStep && { step_id: move.stepId }) },
      asks: entersStep && move.state === 'REVIEW' ? seatsAt(way, move.stepId).filter(({ role }) => role !== 'watcher') : [],
    };
  }

  /** What goes with a move besides the task's own row: the line of the step, and decisions that hold no longer. */
  async record(tx: Tx, task: LockedTask, move: PlannedMove, actor: Actor): Promise<void> {
    if (!move.entersStep) return;
    await this.tasks.recordStep(tx, task.workspace_id, task.id, { from: task.step_id, to: move.stepId }, actor);
    await this.gates.supersede(tx, task, move.supersedes);
  }

  /** Whose doing the changes of state of this transaction are from here on. */
  signAs(tx: Tx, actor: Actor): Promise<void> {
    return this.tasks.signStateChange(tx, actor);
  }

  /** Makes a planned move and tells it. `also`: fields that changed with it. */
  async make(tx: Tx, task: LockedTask, move: PlannedMove, actor: Actor, also: readonly string[] = []): Promise<void> {
    if (move.columns.state !== undefined) await this.tasks.signStateChange(tx, actor);
    if (Object.keys(move.columns).length > 0) await this.tasks.change(tx, task, move.columns);
    await this.record(tx, task, move, actor);
    const fields = [...('state' in move.columns ? ['state'] : []), ...(move.entersStep ? ['step'] : []), ...also];
    if (fields.length > 0) tx.emit('office.task.updated', { task_id: task.id, fields });
  }
}

/** Whom a gate that is entered asks; null where there is nobody to be woken. People see it for themselves. */
export function asksOf({ asks }: PlannedMove, note: string | null = null): StepAsks | null {
  const agentIds = asks.flatMap(({ agentId }) => (agentId === null ? [] : [agentId])).toSorted();
  return agentIds.length === 0 ? null : { agentIds, reason: 'task_review_requested', note };
}
