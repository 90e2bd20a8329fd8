import { Injectable } from '@nestjs/common';
import { Dismissals } from '../inbox/dismissals.service.js';
import { Interruptions } from '../inbox/interruptions.service.js';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import type { StopReason } from '../runs/domain/cancel-reason.js';
import type { WakeReason } from '../runs/domain/wake-reason.js';
import { RunStops } from '../runs/run-stops.service.js';
import { WakeService } from '../runs/wake.service.js';
import { CompletionSignals } from '../sessions/completion-signals.service.js';
import { SessionService } from '../sessions/session.service.js';
import { IS_OPEN_BLOCKER } from '../tasks/domain/open-blocker.js';
import { TaskDependents } from '../tasks/task-dependents.service.js';
import { TaskReactions, type ChangedTask, type Closing, type StepAsks } from '../tasks/task-reactions.js';
import { Transcripts } from '../transcript/transcripts.service.js';
import { holdAgents, type Pair } from './pair-locks.js';
import { PairRecovery } from './pair-recovery.service.js';

const STOPS: Readonly<Record<Exclude<Closing, 'done'>, StopReason>> = {
  cancelled: 'task_cancelled',
  archived: 'task_archived',
  deleted: 'task_deleted',
};

/** What a change of a task does to runs, sessions and inbox items. Locks in the order of contract 5: task, run, session, agent. */
@Injectable()
export class OfficeTaskReactions extends TaskReactions {
  constructor(
    private readonly wakes: WakeService,
    private readonly stops: RunStops,
    private readonly sessions: SessionService,
    private readonly dismissals: Dismissals,
    private readonly interruptions: Interruptions,
    private readonly recovery: PairRecovery,
    private readonly dependents: TaskDependents,
    private readonly signals: CompletionSignals,
    private readonly transcripts: Transcripts,
  ) {
    super();
  }

  override async assigneeChanged(tx: Tx, task: ChangedTask, from: string | null, actor: Actor): Promise<void> {
    if (from !== null) {
      await this.stops.cancelWaiting(tx, { taskId: task.id, agentId: from }, 'assignee_changed');
      await this.stops.askToStop(tx, { taskId: task.id, agentId: from }, 'assignee_changed');
      await this.sessions.retire(tx, task.workspaceId, { taskId: task.id, agentId: from });
      // Both agents by id, so that two tasks that swap their assignees cannot wait for each other.
      await holdAgents(tx, task.assigneeId === null ? [from] : [from, task.assigneeId]);
      await this.dismissals.dismissFailures(tx, { agentId: from, taskId: task.id });
      await this.interruptions.resolveWhatIsOver(tx, { agentId: from, taskId: task.id });
    }
    // Also whoever gave it to themselves: a new task is neither a comment nor a change of the one they work on, and nobody else would begin it.
    if (task.assigneeId !== null)
      await this.wakes.wake(tx, { agentId: task.assigneeId, on: { taskId: task.id }, reason: 'task_assigned', actor });
  }

  override async commented(
    tx: Tx,
    task: ChangedTask,
    comment: { readonly id: string; readonly interrupt: boolean; readonly mentionedAgentIds: readonly string[] },
    actor: Actor,
  ): Promise<void> {
    const { assigneeId } = task;
    const mentioned = comment.mentionedAgentIds.filter((agentId) => agentId !== assigneeId).toSorted();
    if (comment.interrupt && assigneeId !== null) {
      await this.stops.askToStop(tx, { taskId: task.id, agentId: assigneeId }, 'interrupted_by_comment');
    }
    if (actor.kind === 'user') {
      await this.signals.clear(tx, task.workspaceId, task.id);
      // A person's wake moves a failed pair on first, so that it can join (contract 3); all pairs at once, for the order of locks.
      await this.recovery.recover(tx, await this.thoseWhoWouldWake(tx, task, assigneeId, mentioned, actor), actor.id);
    }
    if (assigneeId !== null) await this.wake(tx, task, assigneeId, actor.kind === 'user' ? 'user_comment' : 'agent_comment', actor);
    for (const agentId of mentioned) await this.wake(tx, task, agentId, 'mentioned', actor);
  }

  /** A comment that wakes nobody says nothing about a failure either: its item stays. */
  private async thoseWhoWouldWake(
    tx: Tx,
    task: ChangedTask,
    assigneeId: string | null,
    mentioned: readonly string[],
    actor: Actor,
  ): Promise<Pair[]> {
    const pairs: Pair[] = [];
    for (const agentId of assigneeId === null ? mentioned : [assigneeId, ...mentioned]) {
      const pair = { taskId: task.id, agentId };
      if (await this.wakes.wouldTake(tx, { agentId, on: { taskId: task.id }, reason: 'mentioned', actor })) pairs.push(pair);
    }
    return pairs;
  }

  override async closed(tx: Tx, task: ChangedTask, how: Closing, actor: Actor): Promise<void> {
    await this.dependents.hold(tx, task.id);
    await this.stops.cancelWaiting(tx, { taskId: task.id }, how === 'deleted' ? 'task_not_found' : 'task_terminal');
    // A task that is done lets the turn that did it finish.
    if (how !== 'done') {
      await this.stops.askToStop(tx, { taskId: task.id }, STOPS[how]);
    }
    await this.signals.clear(tx, task.workspaceId, task.id);
    if (how === 'deleted') {
      await this.retireAll(tx, task.id);
      await this.transcripts.removeOfTask(tx, task.id);
    }
    if (how !== 'done') await this.dismissAllFailures(tx, task.id);
    await this.interruptions.resolveWhatIsOver(tx, { taskId: task.id });
    for (const { taskId, agentId } of await this.dependents.freedBy(tx, task.id)) {
      await this.wake(tx, { id: taskId }, agentId, 'task_blockers_resolved', actor);
    }
    const parent = await this.dependents.parentOf(tx, task.id);
    if (parent !== null) await this.wake(tx, { id: parent.taskId }, parent.agentId, 'task_children_completed', actor);
  }

  override async stepEntered(tx: Tx, task: ChangedTask, asks: StepAsks | null, actor: Actor): Promise<void> {
    await this.signals.clear(tx, task.workspaceId, task.id);
    for (const agentId of asks?.agentIds ?? []) await this.wake(tx, task, agentId, asks!.reason, actor, asks!.note);
  }

  override seatGiven(tx: Tx, task: ChangedTask, agentId: string, actor: Actor): Promise<void> {
    return this.wake(tx, task, agentId, 'task_review_requested', actor);
  }

  override async unblocked(tx: Tx, task: ChangedTask, actor: Actor): Promise<void> {
    tx.nudge('work');
    const [open] = await tx.query(
      `select from task_blockers b join tasks blocker on blocker.id = b.blocker_id where b.task_id = $1 and ${IS_OPEN_BLOCKER} limit 1`,
      [task.id],
    );
    if (open === undefined && task.assigneeId !== null) await this.wake(tx, task, task.assigneeId, 'task_blockers_resolved', actor);
  }

  /** Nobody's own comment or change wakes itself. */
  private async wake(
    tx: Tx,
    task: { readonly id: string },
    agentId: string,
    reason: WakeReason,
    actor: Actor,
    note: string | null = null,
  ): Promise<void> {
    if (actor.kind === 'agent' && actor.id === agentId) return;
    await this.wakes.wake(tx, { agentId, on: { taskId: task.id }, reason, actor, note: note ?? undefined });
  }

  private async dismissAllFailures(tx: Tx, taskId: string): Promise<void> {
    const agents = await tx.query<{ agent_id: string }>(
      `select distinct agent_id from runs where workspace_id = $1 and task_id = $2 and status in ('failed', 'timed_out') order by agent_id`,
      [tx.workspaceId, taskId],
    );
    await holdAgents(
      tx,
      agents.map(({ agent_id }) => agent_id),
    );
    for (const { agent_id } of agents) await this.dismissals.dismissFailures(tx, { agentId: agent_id, taskId });
  }

  private async retireAll(tx: Tx, taskId: string): Promise<void> {
    const agents = await tx.query<{ agent_id: string }>(
      `select distinct agent_id from task_sessions where workspace_id = $1 and task_id = $2 and state not in ('COMPLETED', 'CANCELLED')
        order by agent_id`,
      [tx.workspaceId, taskId],
    );
    for (const { agent_id } of agents) await this.sessions.retire(tx, tx.workspaceId!, { taskId, agentId: agent_id });
  }
}
