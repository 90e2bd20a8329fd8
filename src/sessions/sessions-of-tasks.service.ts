import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import { TaskSessions } from '../tasks/task-sessions.js';
import type { TaskSession } from '../tasks/task-sessions.js';
import type { UsageView } from '../workspaces/usage.view.js';
import { isLiveSession } from './domain/session-state.js';
import { SessionRepository } from './session.repository.js';

/** Fills the port of `tasks/`: what a task shows of its conversations. */
@Injectable()
export class SessionsOfTasks extends TaskSessions {
  constructor(private readonly sessions: SessionRepository) {
    super();
  }

  override usageOf(db: Reading, taskId: string): Promise<UsageView | null> {
    return this.sessions.usageOfTask(db, taskId);
  }

  override async of(db: Reading, workspaceId: string, taskIds: readonly string[]): Promise<ReadonlyMap<string, readonly TaskSession[]>> {
    const byTask = new Map<string, TaskSession[]>();
    if (taskIds.length === 0) return byTask;
    for (const { id, task_id, agent_id, state, is_office } of await this.sessions.shortOfTasks(db, workspaceId, taskIds)) {
      const session = { id, agentId: agent_id, state, live: isLiveSession(state, is_office) };
      const known = byTask.get(task_id);
      if (known) known.push(session);
      else byTask.set(task_id, [session]);
    }
    return byTask;
  }
}
