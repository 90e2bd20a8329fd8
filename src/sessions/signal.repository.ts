import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { storableJson } from '../platform/text/storable.js';
import type { StepKind } from '../workflow/domain/office-workflow.js';

/** What an agent says with its signal. */
export interface SignalWords {
  readonly summary: string;
  /** For whoever goes on. */
  readonly handoff: string | null;
  /** What still stands in the way. */
  readonly blockers: string | null;
}

export interface SignalPlace {
  readonly session_id: string;
  readonly session_over: boolean;
  readonly step_kind: StepKind;
  /** The pending signal is about the step as it stands now. */
  readonly is_current: boolean;
  readonly signal: SignalWords | null;
}

/**
 * A signal is about the step its task stands at since it was made: one of an earlier visit is void. SQL, in which `session` and
 * `task` are rows.
 */
export const SIGNAL_IS_CURRENT = `(session.signal_step_id = task.step_id and session.signaled_at >= task.step_entered_at)`;

/** The pending signals of sessions. Their task is held by the caller. */
@Injectable()
export class SignalRepository {
  async lock(tx: Tx, workspaceId: string, taskId: string, sessionId: string): Promise<SignalPlace | null> {
    const [place] = await tx.prepared<SignalPlace>(
      `select session.id as session_id, session.state in ('COMPLETED', 'CANCELLED') as session_over, step.kind as step_kind,
              coalesce(${SIGNAL_IS_CURRENT}, false) as is_current, session.signal
         from task_sessions session
         join tasks task on task.id = session.task_id
         join workflow_steps step on step.id = task.step_id
        where session.workspace_id = $1 and session.task_id = $2 and session.id = $3 for no key update of session`,
      [workspaceId, taskId, sessionId],
    );
    return place ?? null;
  }

  async put(tx: Tx, workspaceId: string, sessionId: string, words: SignalWords): Promise<void> {
    await tx.query(
      `update task_sessions session set signal_step_id = task.step_id, signaled_at = clock_timestamp(), signal = $3, updated_at = now()
         from tasks task where session.workspace_id = $1 and session.id = $2 and task.id = session.task_id`,
      [workspaceId, sessionId, storableJson(words)],
    );
  }

  /** Of all conversations about the task. */
  async clear(tx: Tx, workspaceId: string, taskId: string): Promise<void> {
    await tx.prepared(
      `update task_sessions set signal_step_id = null, signaled_at = null, signal = null
        where id in (select id from task_sessions where workspace_id = $1 and task_id = $2 and signaled_at is not null
                      order by id for no key update)`,
      [workspaceId, taskId],
    );
  }
}
