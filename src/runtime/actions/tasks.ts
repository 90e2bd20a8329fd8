import { Injectable } from '@nestjs/common';
import { OfficeError } from '../../platform/errors/office-error.js';
import { invalid } from '../../platform/http/input-validation.js';
import { approvalsPending } from '../../tasks/approvals-pending.js';
import { CommentDesk } from '../../tasks/comment-desk.service.js';
import { TaskChanges } from '../../tasks/task-changes.service.js';
import { TaskIntake } from '../../tasks/task-intake.service.js';
import { maySubdivide } from '../domain/subtask-depth.js';
import { RefusedWithEffect, RuntimeAction, type ActionCall, type ActionDeclaration } from '../runtime-action.js';
import { CreateSubtaskBody, PostCommentBody, UpdateTaskStatusBody } from '../runtime.dto.js';
import { NewSubtaskView, PostedCommentView, TaskStateView } from '../runtime.view.js';

@Injectable()
export class PostComment extends RuntimeAction<PostCommentBody, PostedCommentView> {
  static readonly declared: ActionDeclaration = {
    action: 'post_comment',
    capability: 'post_comment',
    route: 'POST comments',
    status: 201,
    summary: 'Say something on a task, your own unless you name another; whoever you mention with @handle is woken.',
    names: [{ field: 'task_id', kind: 'task', changes: true, orOwn: true, isTarget: true }],
    body: PostCommentBody,
    answer: PostedCommentView,
    idempotent: true,
    ofTask: true,
  };

  constructor(private readonly comments: CommentDesk) {
    super();
  }

  override async perform({ tx, body, task, actor }: ActionCall<PostCommentBody>): Promise<PostedCommentView> {
    if (task === null) throw invalid([{ path: 'task_id', problem: 'is needed: this run has no task of its own' }]);
    return { comment_id: await this.comments.addTo(tx, task, { body: body.body }, actor) };
  }
}

@Injectable()
export class UpdateTaskStatus extends RuntimeAction<UpdateTaskStatusBody, TaskStateView> {
  static readonly declared: ActionDeclaration = {
    action: 'update_task_status',
    capability: 'update_task_status',
    route: 'POST tasks/:task_id/status',
    status: 200,
    summary: 'Move a task: in_progress, in_review, blocked, done, cancelled or todo; with a comment that says why, if you like.',
    names: [{ field: 'task_id', kind: 'task', changes: true, isTarget: true }],
    body: UpdateTaskStatusBody,
    answer: TaskStateView,
    idempotent: true,
    ofTask: true,
  };

  constructor(
    private readonly changes: TaskChanges,
    private readonly comments: CommentDesk,
  ) {
    super();
  }

  override async perform({ tx, body, task, actor }: ActionCall<UpdateTaskStatusBody>): Promise<TaskStateView | RefusedWithEffect> {
    const { id, workspace_id: workspaceId } = task!;
    if (body.comment !== undefined) await this.comments.addTo(tx, task!, { body: body.comment }, actor);
    const refusal = approvalsPending(await this.changes.apply(tx, workspaceId, id, { state: body.status }, actor));
    // It is with its approvers instead, and stays there.
    if (refusal !== null) return new RefusedWithEffect(refusal);
    const [now] = await tx.query<{ state: TaskStateView['state'] }>(`select state from tasks where workspace_id = $1 and id = $2`, [
      workspaceId,
      id,
    ]);
    return { task_id: id, state: now!.state };
  }
}

@Injectable()
export class CreateSubtask extends RuntimeAction<CreateSubtaskBody, NewSubtaskView> {
  static readonly declared: ActionDeclaration = {
    action: 'create_subtask',
    capability: 'create_subtask',
    route: 'POST tasks/:task_id/subtasks',
    status: 201,
    summary: 'Make a task below another. Its assignee is woken; to give it to somebody else than yourself you need assign_tasks.',
    names: [
      { field: 'task_id', kind: 'task', changes: true, isTarget: true },
      { field: 'assignee_agent_id', kind: 'agent' },
      { field: 'blocked_by', kind: 'task' },
    ],
    body: CreateSubtaskBody,
    answer: NewSubtaskView,
    idempotent: true,
    ofTask: true,
  };

  constructor(private readonly intake: TaskIntake) {
    super();
  }

  override async perform({ tx, run, body, task, actor }: ActionCall<CreateSubtaskBody>): Promise<NewSubtaskView> {
    const assigneeId = body.assignee_agent_id?.toLowerCase() ?? null;
    const isOwnOrNobodys = assigneeId === null || assigneeId === run.agentId;
    if (!isOwnOrNobodys && !run.capabilities.includes('assign_tasks'))
      throw new OfficeError('capability_denied', { needed: 'assign_tasks' });
    const [above] = await tx.query<{ depth: number }>(DEPTH, [run.workspaceId, task!.id]);
    if (!maySubdivide(run.role, above!.depth)) throw new OfficeError('subtask_too_deep', { depth: above!.depth + 1 });
    const input = {
      title: body.title,
      parent_id: task!.id,
      ...(body.description === undefined ? {} : { description: body.description }),
      ...(body.blocked_by === undefined ? {} : { blocked_by: body.blocked_by }),
      ...(assigneeId === null ? {} : { assignee_agent_instance_id: assigneeId }),
    };
    return { task_id: await this.intake.take(tx, run.workspaceId, input, actor) };
  }
}

/** How many tasks stand above one; bounded, because what is asked is only whether there are a few. */
const DEPTH = `
  with recursive line as (
    select id, parent_id, 0 as depth from tasks where workspace_id = $1 and id = $2
    union all
    select up.id, up.parent_id, line.depth + 1 from line join tasks up on up.workspace_id = $1 and up.id = line.parent_id where line.depth < 10
  )
  select max(depth)::int as depth from line`;
