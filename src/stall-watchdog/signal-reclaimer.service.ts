import { Injectable, Logger } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { RunStops } from '../runs/run-stops.service.js';
import { StoredWakes } from '../runs/stored-wakes.service.js';
import { SignalEnding } from '../settlement/signal-ending.service.js';
import { TaskService } from '../tasks/task.service.js';
import { gatesOf, type SignalGate } from './domain/signal-disposition.js';
import { SignalledSessions, type SignalledSession } from './stall-readers.js';

/**
 * Gives a task that is not the Office's what its agent has signalled: a stuck turn is closed, and the end of the turn applies the
 * signal; where no turn is under way it is applied here. Never a task of the Office.
 */
@Injectable()
export class SignalReclaimer {
  private readonly logger = new Logger(SignalReclaimer.name);

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly sessions: SignalledSessions,
    private readonly tasks: TaskService,
    private readonly stops: RunStops,
    private readonly ending: SignalEnding,
    private readonly storedWakes: StoredWakes,
    private readonly settings: OfficeSettings,
  ) {}

  async reclaim(found: SignalledSession, gate: SignalGate): Promise<void> {
    const done = await this.unitOfWork.run(found.workspaceId, (tx) => this.act(tx, found, gate));
    if (!done) return;
    const { taskId, sessionId, stepId } = found;
    this.logger.warn(
      { task_id: taskId, session_id: sessionId, step_id: stepId, signal_age: Math.round(found.signal!.ageMs), gate },
      gate === 'candidate' ? 'stuck turn closed after its completion signal' : 'completion signal applied after its turn',
    );
    await this.storedWakes.place(found.workspaceId);
  }

  /** Looked at again under the task's lock: exactly the turn that was found, for exactly the signal that was found. */
  private async act(tx: Tx, found: SignalledSession, gate: SignalGate): Promise<boolean> {
    const task = await this.tasks.lock(tx, found.workspaceId, found.taskId).catch(goneIsNull);
    const now = task && (await this.sessions.again(found.sessionId, tx));
    if (!now || now.stepId !== found.stepId || now.signaledAt !== found.signaledAt) return false;
    const seen = gatesOf(now, this.settings.OFFICE_STRANDED_SIGNAL_SEC * 1_000);
    if (seen.disposition !== 'reclaimable' || seen.gate !== gate) return false;
    if (gate === 'waiting_reconcile') return now.turn === null && this.ending.apply(tx, { ...found, runId: null }, found.taskId);
    if (found.turn === null || now.turn?.runId !== found.turn.runId || now.turn.generation !== found.turn.generation) return false;
    return (await this.stops.askToStop(tx, { runId: found.turn.runId }, 'signal_reclaimed')) > 0;
  }
}

function goneIsNull(error: unknown): null {
  if (error instanceof OfficeError && error.code === 'not_found') return null;
  throw error;
}
