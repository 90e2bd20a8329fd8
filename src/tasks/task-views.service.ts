import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { pageFrom } from '../platform/http/page.view.js';
import { TASK_STATE_SPELLINGS } from './domain/task-state.js';
import { TaskReads } from './task-reads.repository.js';
import { TaskSessions } from './task-sessions.js';
import type { TaskQuery } from './task.dto.js';
import type { TaskPage, TaskView } from './task.view.js';
import { viewListedTask, viewTask } from './task.view.js';

const MAX_NUMBER = 2_147_483_647;

/** What people see of tasks: their rows, and the conversations about them. */
@Injectable()
export class TaskViews {
  constructor(
    private readonly reads: TaskReads,
    private readonly sessions: TaskSessions,
  ) {}

  async one(db: Reading, workspaceId: string, id: string): Promise<TaskView> {
    const row = await this.reads.find(db, workspaceId, id);
    if (!row) throw new OfficeError('not_found');
    const sessions = await this.sessions.of(db, workspaceId, [row.id]);
    return viewTask(row, sessions.get(row.id), await this.sessions.usageOf(db, row.id));
  }

  async page(db: Reading, workspaceId: string, query: TaskQuery): Promise<TaskPage> {
    const before = decodeCursor(query.cursor, isNumber);
    const filter = {
      state: query.state === undefined ? null : TASK_STATE_SPELLINGS.get(query.state)!,
      assigneeId: query.assignee ?? null,
      stepId: query.step ?? null,
      projectId: query.project ?? null,
      text: query.q ?? null,
      archived: query.archived,
    };
    const place = { before: before === null ? null : Number(before), take: query.limit + 1 };
    const rows = await this.reads.list(db, workspaceId, filter, place);
    const ids = rows.map(({ id }) => id);
    const sessions = await this.sessions.of(db, workspaceId, ids);
    return pageFrom(
      rows,
      query.limit,
      ({ number }) => `${number}`,
      (row) => viewListedTask(row, sessions.get(row.id)),
    );
  }
}

const isNumber = (key: string): boolean => /^[1-9]\d{0,9}$/.test(key) && Number(key) <= MAX_NUMBER;
