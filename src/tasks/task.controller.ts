import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import type { Actor } from '../platform/actor.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { CommentDesk } from './comment-desk.service.js';
import { AddCommentBody } from './comment.dto.js';
import { CommentPage, CommentView } from './comment.view.js';
import { TaskDesk } from './task-desk.service.js';
import { ChangeTaskBody, CreateTaskBody, TaskQuery } from './task.dto.js';
import { TaskPage, TaskView } from './task.view.js';

const ofTask = { of: 'tasks', param: 'id' } as const;
const actorOf = ({ person }: Call): Actor => ({ kind: 'user', id: person.userId });

/** The work, for people. */
@ApiTags('tasks')
@Controller()
export class TaskController {
  constructor(
    private readonly desk: TaskDesk,
    private readonly comments: CommentDesk,
    private readonly commands: IdempotentCommands,
  ) {}

  @Post('workspaces/:ws/tasks')
  @Allow('member', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Make a task; an assignee is woken.' })
  @ApiCreatedResponse({ type: TaskView })
  create(@WorkspaceId() workspaceId: string, @Body() body: CreateTaskBody, @CurrentCall() call: Call): Promise<TaskView> {
    return this.commands.once(call, workspaceId, (tx) => this.desk.create(tx, workspaceId, body, actorOf(call)));
  }

  @Get('workspaces/:ws/tasks')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The tasks of a workspace, the newest first.' })
  @ApiOkResponse({ type: TaskPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: TaskQuery): Promise<TaskPage> {
    return this.desk.list(workspaceId, query);
  }

  @Get('tasks/:id')
  @Allow('member', ofTask)
  @ApiOperation({ summary: 'A task.' })
  @ApiOkResponse({ type: TaskView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<TaskView> {
    return this.desk.get(workspaceId, id);
  }

  @Patch('tasks/:id')
  @Allow('member', ofTask)
  @ApiOperation({ summary: 'Change a task: its text, state, assignee, what it waits for. What is left out stays.' })
  @ApiOkResponse({ type: TaskView })
  change(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: ChangeTaskBody,
    @CurrentCall() call: Call,
  ): Promise<TaskView> {
    return this.desk.change(workspaceId, id, body, actorOf(call));
  }

  @Delete('tasks/:id')
  @HttpCode(204)
  @Allow('workspace_admin', ofTask)
  @ApiOperation({ summary: 'Delete a task and what was said on it; its runs are stopped and stay.' })
  @ApiNoContentResponse()
  remove(@WorkspaceId() workspaceId: string, @Param('id') id: string, @CurrentCall() call: Call): Promise<void> {
    return this.desk.remove(workspaceId, id, actorOf(call));
  }

  @Post('tasks/:id/comments')
  @Allow('member', ofTask)
  @Idempotent()
  @ApiOperation({ summary: 'Say something on a task; wakes its assignee and whoever is mentioned.' })
  @ApiCreatedResponse({ type: CommentView })
  comment(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: AddCommentBody,
    @CurrentCall() call: Call,
  ): Promise<CommentView> {
    return this.commands.once(call, workspaceId, (tx) => this.comments.add(tx, workspaceId, id, body, actorOf(call)));
  }

  @Get('tasks/:id/comments')
  @Allow('member', ofTask)
  @ApiOperation({ summary: 'What was said on a task, oldest first.' })
  @ApiOkResponse({ type: CommentPage })
  listComments(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: PageQuery): Promise<CommentPage> {
    return this.comments.list(workspaceId, id, query);
  }
}
