import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiConflictResponse, ApiOkResponse, ApiOperation, ApiTags, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { ErrorView } from '../platform/http/error.view.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { WorktreeDesk } from './worktree-desk.service.js';
import { ChangesQuery, DiscardBody, PushBody } from './worktree.dto.js';
import { ChangesView, DiscardedView, PushedView, WorktreePage } from './worktree.view.js';

const ofTask = { of: 'worktrees', param: 'id' } as const;

/** What agents did to repositories, for people. `:id` is the task's. */
@ApiTags('worktrees')
@Controller()
export class WorktreeController {
  constructor(private readonly desk: WorktreeDesk) {}

  @Get('workspaces/:ws/worktrees')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The worktrees of tasks, also of deleted ones: work that is nowhere else stays' })
  @ApiOkResponse({ type: WorktreePage })
  list(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<WorktreePage> {
    return this.desk.list(workspaceId, query);
  }

  @Get('tasks/:id/changes')
  @Allow('member', ofTask)
  @ApiOperation({ summary: 'What the branch of a task has changed: commits, files and the patch, page by page' })
  @ApiOkResponse({ type: ChangesView })
  @ApiConflictResponse({ type: ErrorView, description: '`stale_write`: the branch has moved; `host_offline`, `worktree_unusable`' })
  @ApiUnprocessableEntityResponse({ type: ErrorView, description: '`repository_unusable`' })
  changes(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: ChangesQuery): Promise<ChangesView> {
    return this.desk.changes(workspaceId, id, query);
  }

  @Post('tasks/:id/worktree/push')
  @HttpCode(200)
  @Allow('member', ofTask)
  @ApiOperation({ summary: 'Push the branch of a task as it is committed, never by force; may be repeated' })
  @ApiOkResponse({ type: PushedView })
  @ApiConflictResponse({ type: ErrorView, description: '`push_failed` with `problem`, `host_offline`, `worktree_unusable`' })
  @ApiUnprocessableEntityResponse({ type: ErrorView, description: '`repository_unusable`' })
  push(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Body() body: PushBody): Promise<PushedView> {
    return this.desk.push(workspaceId, id, body);
  }

  @Post('tasks/:id/worktree/discard')
  @HttpCode(200)
  @Allow('workspace_admin', ofTask)
  @ApiOperation({ summary: 'Remove the worktree of a task and its branch; one with work of its own only with `lose_work`' })
  @ApiOkResponse({ type: DiscardedView })
  @ApiConflictResponse({
    type: ErrorView,
    description: '`worktree_not_clean` with counts (null: it cannot be told), `task_busy`, `host_offline`, `worktree_unusable`',
  })
  discard(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Body() body: DiscardBody): Promise<DiscardedView> {
    return this.desk.discard(workspaceId, id, body);
  }
}
