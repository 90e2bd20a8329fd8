import { Injectable } from '@nestjs/common';
import { outside } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom } from '../platform/http/page.view.js';
import { TaskService } from '../tasks/task.service.js';
import { SessionRepository } from './session.repository.js';
import type { SessionPage, SessionView } from './session.view.js';
import { viewSession } from './session.view.js';

/** What people see of conversations. Those of a deleted task are gone with it. */
@Injectable()
export class SessionDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly sessions: SessionRepository,
    private readonly tasks: TaskService,
  ) {}

  async get(workspaceId: string, id: string): Promise<SessionView> {
    const db = outside(this.unitOfWork);
    const row = await this.sessions.find(db, workspaceId, id);
    if (!row || (row.task_id !== null && !(await this.tasks.exists(db, workspaceId, row.task_id)))) throw new OfficeError('not_found');
    return viewSession(row);
  }

  async listOfTask(workspaceId: string, taskId: string, query: PageQuery): Promise<SessionPage> {
    const db = outside(this.unitOfWork);
    const page = { after: decodeCursor(query.cursor), take: query.limit + 1 };
    if (!(await this.tasks.exists(db, workspaceId, taskId))) throw new OfficeError('not_found');
    return pageFrom(await this.sessions.listOfTask(db, workspaceId, taskId, page), query.limit, ({ id }) => id, viewSession);
  }
}
