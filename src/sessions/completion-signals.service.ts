import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { isClosed } from '../tasks/domain/task-state.js';
import { TaskService } from '../tasks/task.service.js';
import { SignalRepository, type SignalWords } from './signal.repository.js';

/** The run that signals. */
export interface SignallingRun {
  readonly agentId: string;
  readonly sessionId: string;
}

export const SIGNAL_REFUSALS = ['already_signaled', 'not_assignee', 'task_not_open', 'not_a_work_step'] as const;
export type SignalRefusal = (typeof SIGNAL_REFUSALS)[number];
export type SignalAnswer = { readonly accepted: true } | { readonly accepted: false; readonly reason: SignalRefusal };

/**
 * An agent says that the step of its task is complete (contract 9). The signal waits with its conversation and is applied when
 * a turn of it ends well; until then a person's comment or another step makes it void.
 */
@Injectable()
export class CompletionSignals {
  constructor(
    private readonly tasks: TaskService,
    private readonly signals: SignalRepository,
  ) {}

  /** Part of the caller's transaction. `taskId`: the run's own task, which the caller has made sure of. Safe to repeat. */
  async signal(tx: Tx, workspaceId: string, run: SignallingRun, taskId: string, words: SignalWords): Promise<SignalAnswer> {
    const task = await this.tasks.lock(tx, workspaceId, taskId);
    if (isClosed(task.state) || task.archived) return { accepted: false, reason: 'task_not_open' };
    if (task.assignee_agent_instance_id !== run.agentId) return { accepted: false, reason: 'not_assignee' };
    const place = await this.signals.lock(tx, workspaceId, taskId, run.sessionId);
    if (place === null || place.session_over) throw new OfficeError('not_found', { what: 'session', id: run.sessionId });
    if (place.is_current) return { accepted: false, reason: 'already_signaled' };
    if (place.step_kind !== 'work') return { accepted: false, reason: 'not_a_work_step' };
    await this.signals.put(tx, workspaceId, run.sessionId, words);
    return { accepted: true };
  }

  /** What was signalled on the task is void: a person has spoken, or it stands elsewhere. */
  clear(tx: Tx, workspaceId: string, taskId: string): Promise<void> {
    return this.signals.clear(tx, workspaceId, taskId);
  }
}
