import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { invalid } from '../platform/http/input-validation.js';
import { cutBytes } from '../platform/text/storable.js';
import type { Holder, SeatPlan } from '../workflow/domain/seat.js';
import { seatProblems } from '../workflow/domain/workflow-plan.js';
import { SeatService } from '../workflow/seat.service.js';
import { decisionOf, gateVerdict, isGate, isHeldBy, seatsAt, type DecisionWord, type Seat, type Walk } from './domain/gate.js';
import { isClosed } from './domain/task-state.js';
import { GateRepository, type DecisionRow } from './gate.repository.js';
import { asksOf, TaskMoves, type PlannedMove } from './task-moves.service.js';
import { TaskReactions, type StepAsks } from './task-reactions.js';
import { TaskRepository, type LockedTask } from './task.repository.js';

const NOTES_BYTES = 60 * 1024;

/** Somebody who decides. `seatId` null: at their own seat. */
export interface Decider {
  readonly actor: Exclude<Actor, { readonly kind: 'system' }>;
  /** May decide for an agent that does not. */
  readonly mayStandIn: boolean;
  readonly seatId: string | null;
}

export interface Decided {
  readonly seat: Seat;
  readonly decision: DecisionRow;
}

/** Who decides on a task and what follows. Every method is a part of the caller's transaction. */
@Injectable()
export class TaskGate {
  constructor(
    private readonly tasks: TaskRepository,
    private readonly gates: GateRepository,
    private readonly moves: TaskMoves,
    private readonly seats: SeatService,
    private readonly reactions: TaskReactions,
  ) {}

  /**
   * A decision at the step where the task stands. When all who have to have decided, the task goes on or back. The same
   * decision again changes nothing; another of the same holder takes its place.
   */
  async decide(
    tx: Tx,
    workspaceId: string,
    taskId: string,
    word: { decision: DecisionWord; note: string | null },
    by: Decider,
  ): Promise<Decided> {
    const task = await this.tasks.lock(tx, workspaceId, taskId);
    assertOpen(task);
    const walk = await this.moves.walkOf(tx, task);
    if (!isGate(walk.steps.find(({ id }) => id === task.step_id)!)) throw new OfficeError('no_gate');
    const seat = seatOf(walk, task, by);
    const made = decisionOf(walk, seat);
    if (made?.decision === word.decision && made.note === word.note) {
      return { seat, decision: (await this.gates.activeDecision(tx, task, seat))! };
    }
    const decision = await this.gates.decide(tx, task, seat, word, by.actor);
    await this.goOn(tx, task, by.actor, 'decisions');
    return { seat, decision };
  }

  /** By hand: the step is complete, or the task belongs at another. Answers the approvers who keep it from being done. */
  async advance(tx: Tx, workspaceId: string, taskId: string, toStepId: string | null, actor: Actor): Promise<readonly Seat[]> {
    const task = await this.tasks.lock(tx, workspaceId, taskId);
    assertOpen(task);
    const cause = toStepId === null ? ({ kind: 'completed' } as const) : ({ kind: 'sent_to', stepId: toStepId } as const);
    const move = await this.moves.plan(tx, task, cause);
    await this.moves.make(tx, task, move, actor);
    await this.react(tx, task, move, asksOf(move), actor);
    return move.missing;
  }

  /** Gives somebody a seat of this task alone. Asked at once where the task stands at that step. */
  async putSeat(tx: Tx, workspaceId: string, taskId: string, stepId: string, seat: SeatPlan, actor: Actor): Promise<void> {
    const task = await this.tasks.lock(tx, workspaceId, taskId);
    const before = await this.moves.walkOf(tx, task);
    const step = before.steps.find(({ id }) => id === stepId);
    if (step === undefined) throw new OfficeError('not_found', { what: 'step', id: stepId });
    const problems = seatProblems(step.kind, [seat], 'seat').map(({ path, problem }) => ({
      path: path.split('.')[2] ?? 'agent_id',
      problem,
    }));
    if (problems.length > 0) throw invalid(problems);
    const had = before.seats.find((one) => one.stepId === stepId && isHeldBy(one, seat));
    if (had?.role === seat.role && had.decisionRequired === seat.decisionRequired) return;
    await this.seats.put(tx, { stepId, taskId: task.id }, seat);
    const asked = had !== undefined && had.role !== 'watcher';
    const asks = seat.role !== 'watcher' && !asked && isGate(step) && isHere(task, stepId) ? seat.agentId : null;
    await this.seatsChanged(tx, task, stepId, asks, actor);
  }

  /** Takes a seat of this task alone away. */
  async removeSeat(tx: Tx, workspaceId: string, taskId: string, stepId: string, holder: Holder, actor: Actor): Promise<void> {
    const task = await this.tasks.lock(tx, workspaceId, taskId);
    if (!(await this.seats.remove(tx, { stepId, taskId: task.id }, holder))) throw new OfficeError('not_found', { what: 'seat' });
    await this.seatsChanged(tx, task, stepId, null, actor);
  }

  private async seatsChanged(tx: Tx, task: LockedTask, stepId: string, asks: string | null, actor: Actor): Promise<void> {
    if (isHere(task, stepId)) await this.goOn(tx, task, actor, 'participants');
    else tx.emit('office.task.updated', { task_id: task.id, fields: ['participants'] });
    if (asks !== null) await this.reactions.seatGiven(tx, changed(task), asks, actor);
  }

  /** Where everybody has decided who has to, the task leaves the gate. `field`: what changed that may have been the last of it. */
  private async goOn(tx: Tx, task: LockedTask, actor: Actor, field: 'decisions' | 'participants'): Promise<void> {
    const walk = await this.moves.walkOf(tx, task);
    const here = walk.steps.find(({ id }) => id === task.step_id)!;
    const verdict = gateVerdict(walk, task.step_id);
    if (!isGate(here) || verdict === 'waiting' || (verdict !== 'refused' && here === walk.steps.at(-1))) {
      tx.emit('office.task.updated', { task_id: task.id, fields: [field] });
      return;
    }
    const move = await this.moves.plan(tx, task, { kind: verdict === 'refused' ? 'changes_requested' : 'completed' }, walk);
    await this.moves.make(tx, task, move, actor, [field]);
    await this.react(tx, task, move, verdict === 'refused' ? rework(task, walk) : asksOf(move), actor);
  }

  private async react(tx: Tx, task: LockedTask, move: PlannedMove, asks: StepAsks | null, actor: Actor): Promise<void> {
    if (move.state === 'DONE') await this.reactions.closed(tx, changed(task), 'done', actor);
    else if (move.entersStep) await this.reactions.stepEntered(tx, changed(task), asks, actor);
  }
}

const changed = (task: LockedTask) => ({ id: task.id, workspaceId: task.workspace_id, assigneeId: task.assignee_agent_instance_id });

/** Its seats decide now. */
const isHere = (task: LockedTask, stepId: string): boolean => task.step_id === stepId && !isClosed(task.state) && !task.archived;

function assertOpen({ state, archived }: LockedTask): void {
  if (isClosed(state) || archived) throw new OfficeError('task_not_open', { state, archived });
}

/** One's own seat at the step, or an agent's that somebody may stand in for. */
function seatOf(walk: Walk, task: LockedTask, { actor, mayStandIn, seatId }: Decider): Seat {
  const own = actor.kind === 'agent' ? { agentId: actor.id, userId: null } : { agentId: null, userId: actor.id };
  const seat = seatsAt(walk, task.step_id).find((one) => (seatId === null ? isHeldBy(one, own) : one.id === seatId.toLowerCase()));
  const allowed = seat !== undefined && seat.role !== 'watcher' && (isHeldBy(seat, own) || (mayStandIn && seat.agentId !== null));
  if (!allowed) throw new OfficeError('seat_required');
  return seat;
}

/** The assignee is told all that is to be changed, once. */
function rework(task: LockedTask, walk: Walk): StepAsks | null {
  if (task.assignee_agent_instance_id === null) return null;
  const notes = seatsAt(walk, task.step_id).flatMap((seat) => {
    const made = decisionOf(walk, seat);
    if (made === undefined || (made.decision === 'approved' && made.note === null)) return [];
    return [`${seat.name} ${made.decision === 'approved' ? 'approved' : 'wants changes'}: ${made.note ?? '(no note)'}`];
  });
  return {
    agentIds: [task.assignee_agent_instance_id],
    reason: 'task_changes_requested',
    note: cutBytes(notes.join('\n\n'), NOTES_BYTES),
  };
}
