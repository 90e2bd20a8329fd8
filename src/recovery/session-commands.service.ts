import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { OfficeError } from '../platform/errors/office-error.js';
import type { WakeReason } from '../runs/domain/wake-reason.js';
import { appendRunEvent } from '../runs/run-notes.js';
import { RunReads } from '../runs/run-reads.service.js';
import { restOf } from '../sessions/domain/session-state.js';
import { SessionService } from '../sessions/session.service.js';
import { holdPairs } from './pair-locks.js';
import { PairRecovery } from './pair-recovery.service.js';
import type { ResumedView } from './recovery.view.js';

/** Resume and Start fresh: Mark fixed from the chat of one failed session (contract 8). */
@Injectable()
export class SessionCommands {
  constructor(
    private readonly commands: IdempotentCommands,
    private readonly sessions: SessionService,
    private readonly recovery: PairRecovery,
    private readonly runs: RunReads,
    private readonly settings: OfficeSettings,
  ) {}

  /** Into the same folder and the same conversation. */
  resume(call: Call, workspaceId: string, taskId: string, sessionId: string): Promise<ResumedView> {
    return this.commands.once(call, workspaceId, (tx) => this.recover(tx, call, { taskId, sessionId }, 'manual_resume_after_failure'));
  }

  /**
   * The agent's next conversation is a new one; the old one stays in the session's history. Into the same folder, unless its host is
   * away: then into a new one, wherever there is a host, and the session need not have failed.
   */
  startFresh(call: Call, workspaceId: string, taskId: string, sessionId: string): Promise<ResumedView> {
    return this.commands.once(call, workspaceId, (tx) => this.recover(tx, call, { taskId, sessionId }, 'manual_start_fresh'));
  }

  private async recover(tx: Tx, call: Call, named: { taskId: string; sessionId: string }, reason: WakeReason): Promise<ResumedView> {
    const { userId } = call.person;
    const [known] = await tx.query<{ agent_id: string }>(
      `select agent_id from task_sessions where workspace_id = $1 and id = $2 and task_id = $3`,
      [tx.workspaceId, named.sessionId, named.taskId],
    );
    if (known === undefined) throw new OfficeError('not_found', { what: 'session', id: named.sessionId });
    const pair = { agentId: known.agent_id, taskId: named.taskId };
    const fresh = reason === 'manual_start_fresh';
    const stranded = fresh ? await this.sessions.strandedFolder(tx, tx.workspaceId!, named.taskId, this.settings.OFFICE_LEASE_SEC) : null;
    const held = await holdPairs(tx, [pair], stranded?.session_ids);
    const session = await this.sessions.lock(tx, tx.workspaceId!, named.sessionId);
    const waitsForHost = stranded !== null && session.state === restOf(session.is_office);
    if (session.state !== 'FAILED' && !waitsForHost) throw new OfficeError('session_not_failed', { state: session.state });
    const { lifecycle } = held.agent(pair.agentId);
    if (lifecycle !== 'active') throw new OfficeError('agent_not_active', { lifecycle });
    if (stranded !== null) await this.sessions.leaveFolder(tx, tx.workspaceId!, named.taskId, stranded);
    else if (fresh) await this.sessions.forgetConversation(tx, session);
    // Who resumes a session by name means this agent, whatever the task's assignee: nothing but the end of the task is in the way.
    const revival = await this.recovery.revive(tx, held, { pair, entitlement: 'none', sessionId: null }, userId, reason);
    if ('skipped' in revival) throw new OfficeError('task_not_open', { why: revival.skipped });
    if (stranded !== null) {
      const { host_id, path } = stranded;
      appendRunEvent(tx, revival.runId, 'folder.left', 'warn', { host_id, path });
    }
    await this.recovery.resolveInterruptions(tx, [pair]);
    const { state } = await this.sessions.lock(tx, tx.workspaceId!, named.sessionId);
    return {
      session: { id: named.sessionId, state },
      run_id: revival.runId,
      waiting_on: (await this.runs.waitingOnEach(tx, tx.workspaceId!, [revival.runId])).get(revival.runId) ?? null,
    };
  }
}
