import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/tx.js';
import { IS_OPEN_BLOCKER } from './domain/open-blocker.js';

/** Somebody who can go on because another task is over. */
export interface Freed {
  readonly taskId: string;
  readonly agentId: string;
}

const NOT_OVER = (task: string): string =>
  `${task}.state not in ('DONE', 'CANCELLED') and ${task}.archived_at is null and ${task}.deleted_at is null`;

/** Who waited for a task that is over now. Parts of the transaction that ended it; they lock the tasks they look at. */
@Injectable()
export class TaskDependents {
  /** Tasks come before runs, sessions and agents, those of others too. Whoever closes a task from its own row on holds them already. */
  async hold(tx: Tx, taskId: string): Promise<void> {
    await tx.query(
      `select id from tasks where workspace_id = $1 and id in (
         select task_id from task_blockers where blocker_id = $2 union select parent_id from tasks where id = $2)
        order by id for no key update`,
      [tx.workspaceId, taskId],
    );
  }

  /** The dependents are locked first: of two blockers that end at once, the second sees that the first has ended. */
  async freedBy(tx: Tx, taskId: string): Promise<Freed[]> {
    const dependents = await tx.query<{ id: string }>(
      `select t.id from tasks t
        where t.workspace_id = $1 and t.id in (select task_id from task_blockers where blocker_id = $2) and ${NOT_OVER('t')}
        order by t.id for no key update`,
      [tx.workspaceId, taskId],
    );
    if (dependents.length === 0) return [];
    tx.nudge('work');
    return tx.query<Freed>(
      `select t.id as "taskId", t.assignee_agent_instance_id as "agentId" from tasks t
        where t.workspace_id = $1 and t.id = any($2::uuid[]) and t.assignee_agent_instance_id is not null
          and not exists (select from task_blockers b join tasks blocker on blocker.id = b.blocker_id where b.task_id = t.id and ${IS_OPEN_BLOCKER})
        order by t.id`,
      [tx.workspaceId, dependents.map(({ id }) => id)],
    );
  }

  /** The parent, when this was the last of its children. */
  async parentOf(tx: Tx, taskId: string): Promise<Freed | null> {
    const [parent] = await tx.query<{ id: string; assignee_id: string | null }>(
      `select p.id, p.assignee_agent_instance_id as assignee_id from tasks p
        where p.workspace_id = $1 and p.id = (select parent_id from tasks where id = $2) and ${NOT_OVER('p')}
          for no key update`,
      [tx.workspaceId, taskId],
    );
    if (parent === undefined || parent.assignee_id === null) return null;
    const [openChild] = await tx.query(`select from tasks c where c.workspace_id = $1 and c.parent_id = $2 and ${NOT_OVER('c')} limit 1`, [
      tx.workspaceId,
      parent.id,
    ]);
    return openChild === undefined ? { taskId: parent.id, agentId: parent.assignee_id } : null;
  }
}
