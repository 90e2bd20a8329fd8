import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { AgentRunsQuery, WorkspaceRunsQuery } from './run.dto.js';
import { RunReads } from './run-reads.service.js';
import { RunEventPage, RunEventView, RunPage, RunRowView, RunView } from './run.view.js';

@ApiTags('runs')
@Controller()
export class RunController {
  constructor(private readonly runs: RunReads) {}

  @Get('workspaces/:ws/runs')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'Runs of a workspace, newest first' })
  @ApiOkResponse({ type: RunPage })
  ofWorkspace(@WorkspaceId() workspaceId: string, @Query() query: WorkspaceRunsQuery): Promise<Page<RunRowView>> {
    return this.runs.ofWorkspace(workspaceId, query);
  }

  @Get('agents/:id/runs')
  @Allow('member', { of: 'agents', param: 'id' })
  @ApiOperation({ summary: 'Runs of an agent, newest first' })
  @ApiOkResponse({ type: RunPage })
  ofAgent(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: AgentRunsQuery): Promise<Page<RunRowView>> {
    return this.runs.ofAgent(workspaceId, id, query);
  }

  @Get('runs/:id')
  @Allow('member', { of: 'runs', param: 'id' })
  @ApiOperation({ summary: 'A run with its payload, attempts and wakes' })
  @ApiOkResponse({ type: RunView })
  one(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<RunView> {
    return this.runs.one(workspaceId, id);
  }

  @Get('runs/:id/events')
  @Allow('member', { of: 'runs', param: 'id' })
  @ApiOperation({ summary: "A run's own log, oldest first" })
  @ApiOkResponse({ type: RunEventPage })
  events(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Query() query: PageQuery): Promise<Page<RunEventView>> {
    return this.runs.events(workspaceId, id, query);
  }
}
