import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { SessionDesk } from './session-desk.service.js';
import { SessionPage, SessionView } from './session.view.js';

/** The conversations, for people. */
@ApiTags('sessions')
@Controller()
export class SessionController {
  constructor(private readonly desk: SessionDesk) {}

  @Get('tasks/:id/sessions')
  @Allow('member', { of: 'tasks', param: 'id' })
  @ApiOperation({ summary: 'The conversations about a task, oldest first.' })
  @ApiOkResponse({ type: SessionPage })
  listOfTask(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: PageQuery): Promise<SessionPage> {
    return this.desk.listOfTask(workspaceId, id, query);
  }

  @Get('sessions/:id')
  @Allow('member', { of: 'sessions', param: 'id' })
  @ApiOperation({ summary: 'A conversation.' })
  @ApiOkResponse({ type: SessionView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<SessionView> {
    return this.desk.get(workspaceId, id);
  }
}
