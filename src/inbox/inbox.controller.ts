import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { InboxQuery } from './inbox.dto.js';
import { InboxReads } from './inbox-reads.service.js';
import { InboxCountView, InboxPage } from './inbox.view.js';

/** What needs a person. */
@ApiTags('inbox')
@Controller('workspaces/:ws/inbox')
export class InboxController {
  constructor(private readonly inbox: InboxReads) {}

  @Get()
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'What needs a person, or was dealt with; the newest first.' })
  @ApiOkResponse({ type: InboxPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: InboxQuery): Promise<InboxPage> {
    return this.inbox.list(workspaceId, query);
  }

  @Get('count')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'How many items are open: the badge.' })
  @ApiOkResponse({ type: InboxCountView })
  count(@WorkspaceId() workspaceId: string): Promise<InboxCountView> {
    return this.inbox.count(workspaceId);
  }
}
