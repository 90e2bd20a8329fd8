import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { AgentSummariesView, DashboardView, SidebarView } from './dashboard.view.js';
import { Overview } from './overview.service.js';
import { Timeline } from './timeline.service.js';
import {
  CommentEntryView,
  DecisionEntryView,
  ErrorEntryView,
  StatusEntryView,
  TurnEntryView,
  type TimelineEntryView,
} from './timeline.view.js';

const ENTRIES = [CommentEntryView, TurnEntryView, StatusEntryView, DecisionEntryView, ErrorEntryView];

/** What people look at to see how things stand. */
@ApiTags('dashboard')
@ApiExtraModels(...ENTRIES)
@Controller()
export class DashboardController {
  constructor(
    private readonly overview: Overview,
    private readonly timeline: Timeline,
  ) {}

  @Get('tasks/:id/timeline')
  @Allow('member', { of: 'tasks', param: 'id' })
  @ApiOperation({ summary: 'What a task went through: comments, turns, changes and errors, oldest first' })
  @ApiOkResponse({
    schema: {
      type: 'object',
      required: ['items', 'next_cursor'],
      properties: {
        items: { type: 'array', items: { oneOf: ENTRIES.map((entry) => ({ $ref: getSchemaPath(entry) })) } },
        next_cursor: { type: 'string', nullable: true, description: 'Ask for the next page with it; null on the last one.' },
      },
    },
  })
  ofTask(@WorkspaceId() workspaceId: string, @Param('id') taskId: string, @Query() query: PageQuery): Promise<Page<TimelineEntryView>> {
    return this.timeline.page(workspaceId, taskId, query);
  }

  @Get('workspaces/:ws/agent-summaries')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The cards of all agents: who is at work, what went wrong last' })
  @ApiOkResponse({ type: AgentSummariesView })
  summaries(@WorkspaceId() workspaceId: string): Promise<AgentSummariesView> {
    return this.overview.summaries(workspaceId);
  }

  @Get('workspaces/:ws/sidebar')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The badges: open inbox items, and per agent whether it is paused, at work, and how many errors it has' })
  @ApiOkResponse({ type: SidebarView })
  sidebar(@WorkspaceId() workspaceId: string): Promise<SidebarView> {
    return this.overview.sidebar(workspaceId);
  }

  @Get('workspaces/:ws/dashboard')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The numbers of a workspace, and what became of its runs in the last 14 days' })
  @ApiOkResponse({ type: DashboardView })
  dashboard(@WorkspaceId() workspaceId: string): Promise<DashboardView> {
    return this.overview.dashboard(workspaceId);
  }
}
