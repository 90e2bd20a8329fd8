import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { mayMoveTask } from './domain/task-state.js';
import type { TaskMover, TaskState } from './domain/task-state.js';
import { TaskRepository } from './task.repository.js';
import type { LockedTask } from './task.repository.js';

/** The room's face towards other rooms. Every method is a part of the caller's transaction. */
@Injectable()
export class TaskService {
  constructor(private readonly tasks: TaskRepository) {}

  /** The task as it is now, locked. Tasks come first in the order of locks: task, run, session, agent. */
  lock(tx: Tx, workspaceId: string, id: string): Promise<LockedTask> {
    return this.tasks.lock(tx, workspaceId, id);
  }

  /** Whether there is such a task, and still. */
  exists(db: Reading, workspaceId: string, id: string): Promise<boolean> {
    return this.tasks.exists(db, workspaceId, id);
  }

  /**
   * Moves and tells, if the table lets this mover; answers whether it did. Neither a claim nor a failure closes a task,
   * so there is nothing to react to.
   */
  async moveState(tx: Tx, task: LockedTask, to: TaskState, by: Exclude<TaskMover, 'person' | 'agent'>): Promise<boolean> {
    if (!mayMoveTask({ state: task.state, reviewAfterFailure: task.review_after_failure }, to, by)) return false;
    const moved = await this.tasks.moveState(tx, task, to, by === 'failure');
    if (moved) tx.emit('office.task.updated', { task_id: task.id, fields: ['state'] });
    return moved;
  }
}
