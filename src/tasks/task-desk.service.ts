import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import { outside } from '../platform/database/reading.js';
import type { Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { pageFrom } from '../platform/http/page.view.js';
import { TASK_STATE_SPELLINGS } from './domain/task-state.js';
import { TaskIntake } from './task-intake.service.js';
import { TaskReactions } from './task-reactions.js';
import { TaskReads } from './task-reads.repository.js';
import { TaskSessions } from './task-sessions.js';
import type { CreateTaskBody, TaskQuery } from './task.dto.js';
import { TaskRepository } from './task.repository.js';
import { TaskService } from './task.service.js';
import type { TaskPage, TaskView } from './task.view.js';
import { viewListedTask, viewTask } from './task.view.js';

const MAX_NUMBER = 2_147_483_647;

/** Tasks come in, are looked up, and go. What happens to one in between is `TaskChanges`. */
@Injectable()
export class TaskDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly tasks: TaskRepository,
    private readonly reads: TaskReads,
    private readonly sessions: TaskSessions,
    private readonly intake: TaskIntake,
    private readonly locks: TaskService,
    private readonly reactions: TaskReactions,
  ) {}

  /** Part of an idempotent command. */
  async create(tx: Tx, workspaceId: string, input: CreateTaskBody, actor: Actor): Promise<TaskView> {
    return this.viewFor(tx, workspaceId, await this.intake.take(tx, workspaceId, input, actor));
  }

  get(workspaceId: string, id: string): Promise<TaskView> {
    return this.viewFor(outside(this.unitOfWork), workspaceId, id);
  }

  async list(workspaceId: string, query: TaskQuery): Promise<TaskPage> {
    const db = outside(this.unitOfWork);
    const before = decodeCursor(query.cursor, isNumber);
    const filter = {
      state: query.state === undefined ? null : TASK_STATE_SPELLINGS.get(query.state)!,
      assigneeId: query.assignee ?? null,
      stepId: query.step ?? null,
      text: query.q ?? null,
      archived: query.archived,
    };
    const page = { before: before === null ? null : Number(before), take: query.limit + 1 };
    const rows = await this.reads.list(db, workspaceId, filter, page);
    const sessions = await this.sessions.of(
      db,
      workspaceId,
      rows.map(({ id }) => id),
    );
    return pageFrom(
      rows,
      query.limit,
      ({ number }) => `${number}`,
      (row) => viewListedTask(row, sessions.get(row.id)),
    );
  }

  /** Leaves a tombstone; afterwards there is no such task anywhere. */
  remove(workspaceId: string, id: string, actor: Actor): Promise<void> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const task = await this.locks.lock(tx, workspaceId, id);
      await this.tasks.bury(tx, task);
      tx.emit('office.task.updated', { task_id: task.id, fields: ['deleted'] });
      await this.reactions.closed(tx, { id: task.id, workspaceId, assigneeId: task.assignee_agent_instance_id }, 'deleted', actor);
    });
  }

  async viewFor(db: Reading, workspaceId: string, id: string): Promise<TaskView> {
    const row = await this.reads.find(db, workspaceId, id);
    if (!row) throw new OfficeError('not_found');
    return viewTask(row, (await this.sessions.of(db, workspaceId, [row.id])).get(row.id));
  }
}

const isNumber = (key: string): boolean => /^[1-9]\d{0,9}$/.test(key) && Number(key) <= MAX_NUMBER;
