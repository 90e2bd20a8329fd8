import { Injectable, Logger } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { OfficeEvents } from '../platform/events/office-events.js';
import { undecided } from './domain/decision-wait.js';
import { isQuiet } from './domain/quiet-run.js';
import { gatesOf } from './domain/signal-disposition.js';
import {
  QuietTurns,
  RunsInFlight,
  SignalledSessions,
  StepDecisions,
  StepParticipants,
  TasksAtGates,
  type QuietTurn,
  type SignalledSession,
  type TaskAtGate,
} from './stall-readers.js';

/** A stall as it is told: ids and an age, never a word of anybody's. */
export type ToldStall = Omit<OfficeEvents['office.stall'], 'change'> & { readonly workspaceId: string };

/**
 * Tells the people of a workspace that something stalls, or no longer does. What was found is looked at once more under the
 * task's lock, in the transaction of the event: nobody can start a run of it meanwhile, so nothing is told that is not so.
 */
@Injectable()
export class StallTeller {
  private readonly logger = new Logger(StallTeller.name);

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
    private readonly sessions: SignalledSessions,
    private readonly gates: TasksAtGates,
    private readonly participants: StepParticipants,
    private readonly decisions: StepDecisions,
    private readonly runs: RunsInFlight,
    private readonly turns: QuietTurns,
  ) {}

  /** False: it is not so any more, or somebody is at the task just now. */
  strandedSignal(found: SignalledSession, stall: ToldStall): Promise<boolean> {
    return this.tell(stall, found.taskId, async (tx) => {
      const now = await this.sessions.again(found.sessionId, tx);
      return (
        now !== null &&
        now.stepId === found.stepId &&
        now.signaledAt === found.signaledAt &&
        gatesOf(now, this.settings.OFFICE_STRANDED_SIGNAL_SEC * 1_000).disposition === 'surface_only'
      );
    });
  }

  decisionWaiting(found: TaskAtGate, stall: ToldStall): Promise<boolean> {
    return this.tell(stall, found.taskId, async (tx) => {
      const now = await this.gates.again(found.taskId, this.settings.OFFICE_DECISION_WAIT_SEC * 1_000, tx);
      if (now === null || now.stepId !== found.stepId) return false;
      const seats = (await this.participants.of([now], tx)).get(now.taskId) ?? [];
      const decisions = (await this.decisions.of([now], tx)).get(now.taskId) ?? [];
      return undecided(seats, decisions).length > 0 && !(await this.runs.of([now], tx)).has(now.taskId);
    });
  }

  quietRun(found: QuietTurn, stall: ToldStall): Promise<boolean> {
    return this.tell(stall, null, async (tx) => {
      const now = await this.turns.again(found.runId, tx);
      return now !== null && now.generation === found.generation && isQuiet(now, this.settings.OFFICE_QUIET_SEC * 1_000);
    });
  }

  /** Best effort: what is over and could not be told is told by whatever ended it. */
  async ended({ workspaceId, ...stall }: ToldStall): Promise<void> {
    try {
      await this.unitOfWork.run(workspaceId, async (tx) => tx.emit('office.stall', { ...stall, change: 'ended' }));
    } catch (error) {
      this.logger.warn({ kind: stall.kind, workspace_id: workspaceId, err: error }, 'end of a stall could not be told');
    }
  }

  private tell({ workspaceId, ...stall }: ToldStall, taskId: string | null, stillSo: (tx: Tx) => Promise<boolean>): Promise<boolean> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      // The whole row, so that a run that names the task waits for us, or we leave the task to it.
      if (taskId !== null) {
        const [free] = await tx.query(`select 1 from tasks where workspace_id = $1 and id = $2 for update skip locked`, [
          workspaceId,
          taskId,
        ]);
        if (free === undefined) return false;
      }
      if (!(await stillSo(tx))) return false;
      tx.emit('office.stall', { ...stall, change: 'opened' });
      return true;
    });
  }
}
