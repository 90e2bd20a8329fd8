import { Injectable } from '@nestjs/common';
import type { Actor } from '../platform/actor.js';
import { outside } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { assertApproved } from './approvals-pending.js';
import { TaskChanges } from './task-changes.service.js';
import { TaskIntake } from './task-intake.service.js';
import { TaskViews } from './task-views.service.js';
import type { ChangeTaskBody, CreateTaskBody, TaskQuery } from './task.dto.js';
import type { TaskPage, TaskView } from './task.view.js';

/** Where people bring tasks, look them up, change and delete them. Opens the transactions; what is done in them is done elsewhere. */
@Injectable()
export class TaskDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly intake: TaskIntake,
    private readonly changes: TaskChanges,
    private readonly views: TaskViews,
  ) {}

  /** Part of an idempotent command. */
  async create(tx: Tx, workspaceId: string, body: CreateTaskBody, actor: Actor): Promise<TaskView> {
    return this.views.one(tx, workspaceId, await this.intake.take(tx, workspaceId, body, actor));
  }

  get(workspaceId: string, id: string): Promise<TaskView> {
    return this.views.one(outside(this.unitOfWork), workspaceId, id);
  }

  list(workspaceId: string, query: TaskQuery): Promise<TaskPage> {
    return this.views.page(outside(this.unitOfWork), workspaceId, query);
  }

  /** A task that may not be done yet has gone to its approvers all the same: that is committed, then refused. */
  async change(workspaceId: string, id: string, body: ChangeTaskBody, actor: Actor): Promise<TaskView> {
    const { view, missing } = await this.unitOfWork.run(workspaceId, async (tx) => ({
      missing: await this.changes.apply(tx, workspaceId, id, body, actor),
      view: await this.views.one(tx, workspaceId, id),
    }));
    assertApproved(missing);
    return view;
  }

  remove(workspaceId: string, id: string, actor: Actor): Promise<void> {
    return this.unitOfWork.run(workspaceId, (tx) => this.changes.remove(tx, workspaceId, id, actor));
  }
}
