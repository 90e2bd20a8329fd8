import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import type { Actor } from '../platform/actor.js';
import { outside } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { pageFrom } from '../platform/http/page.view.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { newId } from '../platform/ids.js';
import type { AddCommentBody } from './comment.dto.js';
import { CommentRepository } from './comment.repository.js';
import type { CommentPage, CommentView } from './comment.view.js';
import { viewComment } from './comment.view.js';
import { mentionsIn } from './domain/mentions.js';
import { TaskReactions } from './task-reactions.js';
import type { LockedTask } from './task.repository.js';
import { TaskService } from './task.service.js';

/** What people say about a task. */
@Injectable()
export class CommentDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly comments: CommentRepository,
    private readonly tasks: TaskService,
    private readonly agents: AgentService,
    private readonly reactions: TaskReactions,
  ) {}

  /** Part of an idempotent command. Said on a closed task it is kept all the same; whether anybody wakes is for the reactions. */
  async add(tx: Tx, workspaceId: string, taskId: string, input: AddCommentBody, actor: Actor): Promise<CommentView> {
    const id = await this.addTo(tx, await this.tasks.lock(tx, workspaceId, taskId), input, actor);
    return viewComment((await this.comments.find(tx, workspaceId, id))!);
  }

  /** On a task whose row this transaction holds; answers the comment's id. */
  async addTo(tx: Tx, task: LockedTask, input: AddCommentBody, actor: Actor): Promise<string> {
    const workspaceId = task.workspace_id;
    const id = newId();
    const author = { kind: actor.kind, id: actor.id };
    const runId = actor.kind === 'agent' ? actor.runId : null;
    await this.comments.insert(tx, workspaceId, { id, taskId: task.id, author, source: actor.kind, runId, body: input.body });
    tx.emit('office.comment.created', { comment_id: id, task_id: task.id, author });

    const assigneeId = task.assignee_agent_instance_id;
    const mentioned = await this.agents.idsOfHandles(tx, workspaceId, mentionsIn(input.body));
    // The assignee is woken by the comment itself, and nobody wakes themselves.
    const mentionedAgentIds = mentioned.filter((agentId) => agentId !== assigneeId && agentId !== actor.id);
    const comment = { id, interrupt: input.interrupt ?? false, mentionedAgentIds };
    await this.reactions.commented(tx, { id: task.id, workspaceId, assigneeId }, comment, actor);
    return id;
  }

  async list(workspaceId: string, taskId: string, query: PageQuery): Promise<CommentPage> {
    const db = outside(this.unitOfWork);
    const rows = await this.comments.list(db, workspaceId, taskId, { after: decodeCursor(query.cursor), take: query.limit + 1 });
    if (rows.length === 0 && !(await this.tasks.exists(db, workspaceId, taskId))) throw new OfficeError('not_found');
    return pageFrom(rows, query.limit, ({ id }) => id, viewComment);
  }
}
