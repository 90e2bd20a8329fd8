import { Injectable } from '@nestjs/common';
import { Interruptions } from '../inbox/interruptions.service.js';
import { THE_SYSTEM, type Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { RunStops } from '../runs/run-stops.service.js';
import type { WakeReason } from '../runs/domain/wake-reason.js';
import { WakeService } from '../runs/wake.service.js';
import { SignalRepository, type SignalWords } from '../sessions/signal.repository.js';
import { isClosed } from '../tasks/domain/task-state.js';
import { TaskDependents } from '../tasks/task-dependents.service.js';
import { asksOf, TaskMoves, type PlannedMove } from '../tasks/task-moves.service.js';
import type { LockedTask } from '../tasks/task.repository.js';
import { TaskService } from '../tasks/task.service.js';
import type { LockedRun } from './settlement.repository.js';

/** The turn that ended, or the conversation in which none will. */
export interface SignalledTurn {
  readonly runId: string | null;
  readonly agentId: string;
  readonly taskId: string | null;
  readonly sessionId: string;
}

/** The end of a turn that completes its step (contract 9). Part of the settlement's transaction: the wakes it leads to are stored with it. */
@Injectable()
export class SignalEnding {
  constructor(
    private readonly tasks: TaskService,
    private readonly moves: TaskMoves,
    private readonly dependents: TaskDependents,
    private readonly signals: SignalRepository,
    private readonly stops: RunStops,
    private readonly interruptions: Interruptions,
    private readonly wakes: WakeService,
  ) {}

  /** A turn that ended well, or was closed for having signalled: its signal is applied, once, if it is still about the task's step. */
  async turnEnded(tx: Tx, run: SignalledTurn, { session, task }: Pick<LockedRun, 'session' | 'task'>): Promise<boolean> {
    if (task === null || (!session.signaled && !task.ends_with_turn)) return false;
    return this.apply(tx, run, task.id, task.ends_with_turn);
  }

  /** `withoutSignal`: the step ends with the turn, whether its agent has said so or not. False: it was void; the task stays. */
  async apply(tx: Tx, { runId, agentId, sessionId }: SignalledTurn, taskId: string, withoutSignal = false): Promise<boolean> {
    const task = await this.tasks.lock(tx, tx.workspaceId!, taskId).catch(goneIsNull);
    if (task === null) return false;
    const place = await this.signals.lock(tx, tx.workspaceId!, taskId, sessionId);
    const works = task.state === 'IN_PROGRESS' || place?.is_current === true;
    const holds = place?.is_current === true || (withoutSignal && place?.signal == null);
    await this.signals.clear(tx, tx.workspaceId!, taskId);
    if (!holds || !works || isClosed(task.state) || task.archived || task.assignee_agent_instance_id !== agentId) return false;
    const move = await this.moves.plan(tx, task, { kind: 'completed' }).catch(noStepIsNull);
    if (move === null) return false;
    const actor: Actor = runId === null ? THE_SYSTEM : { kind: 'agent', id: agentId, runId };
    await this.moves.make(tx, task, move, actor);
    // The name stays with the transaction, which may end runs of others.
    await this.moves.signAs(tx, THE_SYSTEM);
    await this.storeWakes(tx, task, move, { runId, agentId, words: place?.signal ?? null });
    return true;
  }

  private async storeWakes(
    tx: Tx,
    task: LockedTask,
    move: PlannedMove,
    by: { runId: string | null; agentId: string; words: SignalWords | null },
  ): Promise<void> {
    const store = async (taskId: string, agentId: string, reason: WakeReason, note: string | null): Promise<void> => {
      if (agentId === by.agentId) return;
      await this.wakes.store(tx, {
        agentId,
        on: { taskId },
        reason,
        actor: THE_SYSTEM,
        note: note ?? undefined,
        causedByRunId: by.runId ?? undefined,
      });
    };
    const asks = asksOf(move, by.words === null ? null : handover(by.words));
    for (const agentId of asks?.agentIds ?? []) await store(task.id, agentId, asks!.reason, asks!.note);
    if (move.state !== 'DONE') return;
    await this.stops.cancelWaiting(tx, { taskId: task.id }, 'task_terminal');
    await this.interruptions.resolveWhatIsOver(tx, { taskId: task.id });
    for (const { taskId, agentId } of await this.dependents.freedBy(tx, task.id)) {
      await store(taskId, agentId, 'task_blockers_resolved', null);
    }
    const parent = await this.dependents.parentOf(tx, task.id);
    if (parent !== null) await store(parent.taskId, parent.agentId, 'task_children_completed', null);
  }
}

/** What the one who comes next is told of what the last one said. */
export function handover({ summary, handoff, blockers }: SignalWords): string {
  return [
    `What was done: ${summary}`,
    ...(handoff === null ? [] : [`Handed over: ${handoff}`]),
    ...(blockers === null ? [] : [`Still in the way: ${blockers}`]),
  ].join('\n');
}

function goneIsNull(error: unknown): null {
  if (error instanceof OfficeError && error.code === 'not_found') return null;
  throw error;
}

function noStepIsNull(error: unknown): null {
  if (error instanceof OfficeError && error.code === 'no_next_step') return null;
  throw error;
}
