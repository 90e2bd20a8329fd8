import { Controller, Get, Query } from '@nestjs/common';
import { ApiGoneResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { ErrorView } from '../platform/http/error.view.js';
import { EventReads } from './event-reads.service.js';
import { EventsQuery } from './events.dto.js';
import { EventsView } from './events.view.js';

@ApiTags('events')
@Controller('workspaces/:ws/events')
export class EventsController {
  constructor(private readonly events: EventReads) {}

  @Get()
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'What happened in a workspace, in order, without gaps' })
  @ApiOkResponse({ type: EventsView })
  @ApiGoneResponse({ type: ErrorView, description: '`resync_required`, with `oldest_seq` and `last_seq`' })
  after(@WorkspaceId() workspaceId: string, @Query() query: EventsQuery): Promise<EventsView> {
    return this.events.after(workspaceId, query);
  }
}
