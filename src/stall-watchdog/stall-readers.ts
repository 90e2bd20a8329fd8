import type { Reading } from '../platform/database/reading.js';
import type { DecisionAtStep, SeatAtStep } from './domain/decision-wait.js';
import type { SignalFacts } from './domain/signal-disposition.js';
import type { TurnFacts } from './domain/quiet-run.js';

/** A part of the candidates, the oldest first. */
export interface Page {
  /** The `place` of the last one before; null: from the oldest. */
  readonly after: string | null;
  readonly take: number;
  /** Null: of all workspaces. */
  readonly workspaceId: string | null;
}

/** What the owner of a turn saw of it last; each null where nobody knows. */
export interface Evidence {
  readonly lastContentAt: Date | null;
  readonly processAlive: boolean | null;
  readonly currentTool: string | null;
}

export interface SignalledSession extends SignalFacts {
  readonly place: string;
  readonly workspaceId: string;
  readonly taskId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly stepId: string;
  /** Exact, as a key. */
  readonly signaledAt: string;
  /** The turn that is under way, if one is. */
  readonly turn: { readonly runId: string; readonly generation: number } | null;
  readonly evidence: Evidence;
}

export interface TaskAtGate {
  readonly place: string;
  readonly workspaceId: string;
  readonly taskId: string;
  readonly stepId: string;
  /** Since it entered the step. */
  readonly waitedMs: number;
  readonly updatedAt: Date;
}

export interface QuietTurn extends TurnFacts {
  readonly place: string;
  readonly workspaceId: string;
  readonly taskId: string | null;
  readonly agentId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly generation: number;
  readonly evidence: Evidence;
}

/*
 * What the watchdog reads, each by itself: any of them may be missing or fail, and then what depended on it is skipped and
 * counted, never guessed. In milliseconds by the database's clock.
 */

/** Open tasks' conversations with a signal older than the threshold. */
export abstract class SignalledSessions {
  abstract list(page: Page, olderThanMs: number, db?: Reading): Promise<SignalledSession[]>;
  /** The same of one conversation, for whoever is about to act on it. */
  abstract again(sessionId: string, db: Reading): Promise<SignalledSession | null>;
}

/** Office tasks that are neither archived nor over and have stood longer than the threshold at a step where somebody has to decide. */
export abstract class TasksAtGates {
  abstract list(page: Page, longerThanMs: number, db?: Reading): Promise<TaskAtGate[]>;
  /** The same of one task, for whoever is about to tell of it. */
  abstract again(taskId: string, longerThanMs: number, db: Reading): Promise<TaskAtGate | null>;
}

export abstract class StepParticipants {
  /** By task; a task without seats may be missing. */
  abstract of(tasks: readonly TaskAtGate[], db?: Reading): Promise<ReadonlyMap<string, readonly SeatAtStep[]>>;
}

export abstract class StepDecisions {
  /** By task, superseded ones too; a task without decisions may be missing. */
  abstract of(tasks: readonly TaskAtGate[], db?: Reading): Promise<ReadonlyMap<string, readonly DecisionAtStep[]>>;
}

/** The dearest, so asked last. */
export abstract class RunsInFlight {
  /** Those of the tasks that have a run queued, waiting for its retry, or running. */
  abstract of(tasks: readonly TaskAtGate[], db?: Reading): Promise<ReadonlySet<string>>;
}

/** Turns that may have been silent longer than the threshold, and those of which nothing is known. */
export abstract class QuietTurns {
  abstract list(page: Page, longerThanMs: number, db?: Reading): Promise<QuietTurn[]>;
  abstract again(runId: string, db: Reading): Promise<QuietTurn | null>;
}
