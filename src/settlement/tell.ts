import { statusOf } from '../agents/domain/agent-status.js';
import type { Tx } from '../platform/database/tx.js';
import type { WaitingOn } from '../runs/domain/waiting-on.js';
import type { LockedRun, SettledRun } from './settlement.repository.js';

/** `error_message` has been cut for events already. */
export function tellRun(tx: Tx, run: SettledRun, status: string, error_message?: string, waiting_on?: WaitingOn): void {
  tx.emit('office.wakeup.updated', {
    wakeup_id: run.runId,
    agent_id: run.agentId,
    ...(run.taskId === null ? {} : { task_id: run.taskId }),
    status,
    ...(waiting_on === undefined ? {} : { waiting_on }),
    ...(error_message === undefined ? {} : { error_message }),
  });
}

export function tellSession(tx: Tx, run: SettledRun, state: string, error_message?: string): void {
  tx.emit('office.task.session.updated', {
    session_id: run.sessionId,
    task_id: run.taskId,
    state,
    ...(error_message === undefined ? {} : { error_message }),
  });
}

/** Told when anything a person sees of the agent changed: its counter, its pause, or that nothing of it runs any more. */
export function tellAgent(tx: Tx, agent: LockedRun['agent'], now: { failures?: number; pauseReason?: string } = {}): void {
  const failures = now.failures ?? agent.consecutiveFailures;
  const pauseSource = now.pauseReason === undefined ? agent.pauseSource : 'auto';
  if (agent.otherLiveSessions > 0 && failures === agent.consecutiveFailures && now.pauseReason === undefined) return;
  tx.emit('office.agent.updated', {
    agent_id: agent.id,
    status: statusOf({ lifecycle: agent.lifecycle, pauseSource, liveSessions: agent.otherLiveSessions }),
    pause_reason: now.pauseReason ?? agent.pauseReason,
    consecutive_failures: failures,
  });
}
