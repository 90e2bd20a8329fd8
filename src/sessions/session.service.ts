import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { newId } from '../platform/ids.js';
import { cutBytes, storableText } from '../platform/text/storable.js';
import { mayMove, restOf } from './domain/session-state.js';
import type { MoveCause, SessionState } from './domain/session-state.js';
import { SessionRepository } from './session.repository.js';
import type { LockedSession, Pair, StrandedFolder } from './session.repository.js';

const EVENT_TEXT_BYTES = 4 * 1024;
const ATTEMPTS = 5;

export interface WantedSession extends Pair {
  /** The program that will keep the conversation. */
  readonly adapter: string;
}

/** What goes with a move. `cause` where the table asks for one. */
export interface MoveDetails {
  /** The raw payload; a session in any other state than FAILED has none. */
  readonly errorMessage?: string;
  readonly acpSessionId?: string;
  readonly cause?: MoveCause;
}

/**
 * The conversations. Every method is a part of the caller's transaction; sessions are locked after tasks and runs and
 * before agents. A move tells itself.
 */
@Injectable()
export class SessionService {
  constructor(private readonly sessions: SessionRepository) {}

  /** The pair's one open session, made if there is none, locked. It may be FAILED: that is for the caller to see. */
  async openForPair(tx: Tx, workspaceId: string, wanted: WantedSession): Promise<LockedSession> {
    const [session] = await this.openForPairs(tx, workspaceId, [wanted]);
    return session!;
  }

  /**
   * The same for many pairs at once, in the order they were given. Where an agent has changed its adapter since, the
   * conversation begins anew: its old id names nothing to the new program.
   */
  async openForPairs(tx: Tx, workspaceId: string, wanted: readonly WantedSession[]): Promise<LockedSession[]> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await this.sessions.insertMissing(
        tx,
        workspaceId,
        wanted.map((pair) => ({ ...pair, newId: newId() })),
      );
      const open = new Map(
        (await this.sessions.lockOpen(tx, workspaceId, wanted)).map((session) => [keyOf(session.task_id, session.agent_id), session]),
      );
      const found = wanted.map(({ taskId, agentId }) => open.get(keyOf(taskId, agentId)));
      // One that existed when we inserted may have been ended before we locked it; then there is room for a new one.
      if (found.every((session) => session !== undefined)) return this.keptBy(tx, found, wanted);
    }
    throw new Error('sessions of the pairs end as fast as they are opened');
  }

  /** A conversation about no task, of one run alone. */
  async openTaskless(tx: Tx, workspaceId: string, wanted: { agentId: string; adapter: string }): Promise<LockedSession> {
    const id = newId();
    await this.sessions.insertTaskless(tx, workspaceId, { id, ...wanted });
    return this.lock(tx, workspaceId, id);
  }

  async lock(tx: Tx, workspaceId: string, id: string): Promise<LockedSession> {
    const session = await this.sessions.lock(tx, workspaceId, id);
    if (!session) throw new OfficeError('not_found', { what: 'session', id });
    return session;
  }

  /** Through the table and by compare-and-set, or not at all. Answers the session as it is then. */
  async move(
    tx: Tx,
    session: LockedSession,
    to: SessionState,
    { errorMessage, acpSessionId, cause }: MoveDetails = {},
  ): Promise<LockedSession> {
    if (!mayMove(session.state, to, session.is_office, cause)) throw new OfficeError('illegal_transition', { from: session.state, to });
    const error = to === 'FAILED' && errorMessage !== undefined ? storableText(errorMessage) : null;
    const write = { errorMessage: error, ...(acpSessionId !== undefined && { acpSessionId }) };
    if (!(await this.sessions.move(tx, session, to, write))) throw new OfficeError('stale_write', { what: 'session', id: session.id });
    tx.emit('office.task.session.updated', {
      session_id: session.id,
      task_id: session.task_id,
      state: to,
      ...(error !== null && { error_message: cutBytes(error, EVENT_TEXT_BYTES) }),
    });
    return {
      ...session,
      state: to,
      acp_session_id: acpSessionId ?? session.acp_session_id,
      turns: session.turns + (to === 'RUNNING' ? 1 : 0),
    };
  }

  /** Where it rests between two turns. */
  rest(tx: Tx, session: LockedSession): Promise<LockedSession> {
    return this.move(tx, session, restOf(session.is_office));
  }

  /** A person gives a failed conversation another chance. Null when the pair has no failed one. */
  async recoverFailed(tx: Tx, workspaceId: string, pair: Pair): Promise<LockedSession | null> {
    const [session] = await this.sessions.lockOpen(tx, workspaceId, [pair]);
    if (session?.state !== 'FAILED') return null;
    return this.move(tx, session, restOf(session.is_office), { cause: 'recovery' });
  }

  /** The same of a session without a task. It is of one run alone, so nothing wakes in it; it is only no open failure any more. */
  async recoverTaskless(tx: Tx, workspaceId: string, id: string): Promise<void> {
    const session = await this.lock(tx, workspaceId, id);
    if (session.state === 'FAILED') await this.move(tx, session, restOf(session.is_office), { cause: 'recovery' });
  }

  /**
   * The agent has left the task. A conversation in which a turn runs is left to the settlement of that turn, which is
   * being stopped: answers `live`. One that never began is cancelled.
   */
  async retire(tx: Tx, workspaceId: string, pair: Pair): Promise<'retired' | 'live' | 'none'> {
    const [session] = await this.sessions.lockOpen(tx, workspaceId, [pair]);
    if (!session) return 'none';
    if (session.state === 'STARTING' || session.state === 'RUNNING') return 'live';
    if (session.state === 'CREATED') await this.move(tx, session, 'CANCELLED');
    else await this.move(tx, session, 'COMPLETED', { cause: 'agent_left' });
    return 'retired';
  }

  /** The next turn begins a new conversation in the same session; the old one is remembered by its id. */
  async forgetConversation(tx: Tx, session: LockedSession, adapter = session.adapter): Promise<LockedSession> {
    await this.sessions.forgetConversation(tx, session, adapter);
    return { ...session, adapter, acp_session_id: null };
  }

  /** The task's folder, where its host is away. Holds the task. */
  strandedFolder(tx: Tx, workspaceId: string, taskId: string, leaseSec: number): Promise<StrandedFolder | null> {
    return this.sessions.strandedFolder(tx, workspaceId, taskId, leaseSec);
  }

  /**
   * The task's next run takes place wherever it is claimed, in a new folder. The conversations of all its sessions were on the
   * host that is left behind, too. What lies in the old folder stays there. The caller holds the sessions.
   */
  async leaveFolder(tx: Tx, workspaceId: string, taskId: string, { session_ids }: StrandedFolder): Promise<void> {
    for (const id of session_ids) await this.forgetConversation(tx, await this.lock(tx, workspaceId, id));
    await this.sessions.forgetFolder(tx, workspaceId, taskId);
    for (const id of session_ids) {
      const { state, error_message: error } = (await this.sessions.find(tx, workspaceId, id))!;
      tx.emit('office.task.session.updated', {
        session_id: id,
        task_id: taskId,
        state,
        ...(error !== null && { error_message: cutBytes(error, EVENT_TEXT_BYTES) }),
      });
    }
  }

  private async keptBy(tx: Tx, sessions: readonly LockedSession[], wanted: readonly WantedSession[]): Promise<LockedSession[]> {
    const kept: LockedSession[] = [];
    for (const [index, session] of sessions.entries()) {
      const { adapter } = wanted[index]!;
      kept.push(session.adapter === adapter ? session : await this.forgetConversation(tx, session, adapter));
    }
    return kept;
  }
}

const keyOf = (taskId: string | null, agentId: string): string => `${taskId} ${agentId}`;
