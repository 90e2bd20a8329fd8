import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { ErrorView } from '../platform/http/error.view.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { RepositoryDesk } from './repository-desk.service.js';
import { RegisterRepositoryBody } from './repository.dto.js';
import { RepositoryService } from './repository.service.js';
import { RepositoryPage, RepositoryView } from './repository.view.js';

@ApiTags('repositories')
@Controller()
export class RepositoryController {
  constructor(
    private readonly repositories: RepositoryService,
    private readonly desk: RepositoryDesk,
  ) {}

  @Post('workspaces/:ws/repositories')
  @Allow('workspace_admin', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Let tasks work in a git repository of this host; under OFFICE_REPOSITORY_ROOTS only' })
  @ApiCreatedResponse({ type: RepositoryView })
  @ApiConflictResponse({ type: ErrorView, description: '`repository_taken`' })
  @ApiUnprocessableEntityResponse({ type: ErrorView, description: '`repository_unusable`, with `problem`' })
  register(@WorkspaceId() workspaceId: string, @Body() body: RegisterRepositoryBody, @CurrentCall() call: Call): Promise<RepositoryView> {
    return this.desk.register(call, workspaceId, body);
  }

  @Get('workspaces/:ws/repositories')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The repositories tasks may work in' })
  @ApiOkResponse({ type: RepositoryPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<Page<RepositoryView>> {
    return this.repositories.list(workspaceId, query);
  }

  @Delete('repositories/:id')
  @HttpCode(204)
  @Allow('workspace_admin', { of: 'repositories', param: 'id' })
  @ApiOperation({ summary: 'No task may begin or go on in it; what is on the disk stays, worktrees included' })
  @ApiNoContentResponse()
  remove(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<void> {
    return this.repositories.remove(workspaceId, id);
  }
}
