import { Injectable } from '@nestjs/common';
import { Dismissals } from '../inbox/dismissals.service.js';
import { Interruptions } from '../inbox/interruptions.service.js';
import type { Actor } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import type { StopReason } from '../runs/domain/cancel-reason.js';
import type { WakeReason } from '../runs/domain/wake-reason.js';
import { RunStops } from '../runs/run-stops.service.js';
import { WakeService } from '../runs/wake.service.js';
import { SessionService } from '../sessions/session.service.js';
import { IS_OPEN_BLOCKER } from '../tasks/domain/open-blocker.js';
import { TaskReactions, type ChangedTask, type Closing } from '../tasks/task-reactions.js';
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
    await this.holdNeighbours(tx, task.id);
    await this.stops.cancelWaiting(tx, { taskId: task.id }, how === 'deleted' ? 'task_not_found' : 'task_terminal');
    // A task that is done lets the turn that did it finish.
    if (how !== 'done') {
      await this.stops.askToStop(tx, { taskId: task.id }, STOPS[how]);
    }
    if (how === 'deleted') {
      await this.retireAll(tx, task.id);
      await this.transcripts.removeOfTask(tx, task.id);
    }
    if (how !== 'done') await this.dismissAllFailures(tx, task.id);
    await this.interruptions.resolveWhatIsOver(tx, { taskId: task.id });
    await this.wakeDependents(tx, task, actor);
    await this.wakeParent(tx, task, actor);
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
  private async wake(tx: Tx, task: { readonly id: string }, agentId: string, reason: WakeReason, actor: Actor): Promise<void> {
    if (actor.kind === 'agent' && actor.id === agentId) return;
    await this.wakes.wake(tx, { agentId, on: { taskId: task.id }, reason, actor });
  }

  /** Tasks come before runs, sessions and agents, those of others too. Whoever closes a task from its own row on holds them already. */
  private async holdNeighbours(tx: Tx, taskId: string): Promise<void> {
    await tx.query(
      `select id from tasks where workspace_id = $1 and id in (
         select task_id from task_blockers where blocker_id = $2 union select parent_id from tasks where id = $2)
        order by id for no key update`,
      [tx.workspaceId, taskId],
    );
  }

  /** The dependents are locked first: of two blockers that end at once, the second sees that the first has ended. */
  private async wakeDependents(tx: Tx, task: ChangedTask, actor: Actor): Promise<void> {
    const dependents = await tx.query<{ id: string; assignee_id: string | null }>(
      `select t.id, t.assignee_agent_instance_id as assignee_id from tasks t
        where t.workspace_id = $1 and t.id in (select task_id from task_blockers where blocker_id = $2)
          and t.state not in ('DONE', 'CANCELLED') and t.archived_at is null and t.deleted_at is null
        order by t.id for no key update`,
      [tx.workspaceId, task.id],
    );
    if (dependents.length === 0) return;
    const free = await tx.query<{ id: string; assignee_id: string | null }>(
      `select t.id, t.assignee_agent_instance_id as assignee_id from tasks t
        where t.workspace_id = $1 and t.id = any($2::uuid[])
          and not exists (select from task_blockers b join tasks blocker on blocker.id = b.blocker_id where b.task_id = t.id and ${IS_OPEN_BLOCKER})
        order by t.id`,
      [tx.workspaceId, dependents.map(({ id }) => id)],
    );
    tx.nudge('work');
    for (const { id, assignee_id } of free) {
      if (assignee_id !== null) await this.wake(tx, { id }, assignee_id, 'task_blockers_resolved', actor);
    }
  }

  private async wakeParent(tx: Tx, task: ChangedTask, actor: Actor): Promise<void> {
    const [parent] = await tx.query<{ id: string; assignee_id: string | null }>(
      `select p.id, p.assignee_agent_instance_id as assignee_id from tasks p
        where p.workspace_id = $1 and p.id = (select parent_id from tasks where id = $2)
          and p.state not in ('DONE', 'CANCELLED') and p.archived_at is null and p.deleted_at is null
          for no key update`,
      [tx.workspaceId, task.id],
    );
    if (parent === undefined || parent.assignee_id === null) return;
    const [openChild] = await tx.query(
      `select from tasks c where c.workspace_id = $1 and c.parent_id = $2 and c.state not in ('DONE', 'CANCELLED')
          and c.archived_at is null and c.deleted_at is null limit 1`,
      [tx.workspaceId, parent.id],
    );
    if (openChild === undefined) await this.wake(tx, parent, parent.assignee_id, 'task_children_completed', actor);
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
