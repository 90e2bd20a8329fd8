import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { ProjectDesk } from './project-desk.service.js';
import { ChangeProjectBody, CreateProjectBody } from './project.dto.js';
import { ProjectPage, ProjectView } from './project.view.js';

const ofProject = { of: 'projects', param: 'id' } as const;

/** What tasks belong to, for people. */
@ApiTags('projects')
@Controller()
export class ProjectController {
  constructor(
    private readonly desk: ProjectDesk,
    private readonly commands: IdempotentCommands,
  ) {}

  @Post('workspaces/:ws/projects')
  @Allow('workspace_admin', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Make a project. A task of it is an Office task, unless its workflow is a kanban.' })
  @ApiCreatedResponse({ type: ProjectView })
  create(@WorkspaceId() workspaceId: string, @Body() body: CreateProjectBody, @CurrentCall() call: Call): Promise<ProjectView> {
    return this.commands.once(call, workspaceId, (tx) => this.desk.create(tx, workspaceId, body));
  }

  @Get('workspaces/:ws/projects')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The projects of a workspace, the oldest first.' })
  @ApiOkResponse({ type: ProjectPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<Page<ProjectView>> {
    return this.desk.list(workspaceId, query);
  }

  @Get('projects/:id')
  @Allow('member', ofProject)
  @ApiOperation({ summary: 'A project.' })
  @ApiOkResponse({ type: ProjectView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<ProjectView> {
    return this.desk.get(workspaceId, id);
  }

  @Patch('projects/:id')
  @Allow('workspace_admin', ofProject)
  @ApiOperation({ summary: 'Change a project. What is left out stays.' })
  @ApiOkResponse({ type: ProjectView })
  change(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Body() body: ChangeProjectBody): Promise<ProjectView> {
    return this.desk.change(workspaceId, id, body);
  }

  @Delete('projects/:id')
  @HttpCode(204)
  @Allow('workspace_admin', ofProject)
  @ApiOperation({ summary: 'Delete a project that no task belongs to.' })
  @ApiNoContentResponse()
  remove(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<void> {
    return this.desk.remove(workspaceId, id);
  }
}
