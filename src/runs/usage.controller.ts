import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { UsageView } from '../workspaces/usage.view.js';
import { UsageQuery } from './run.dto.js';
import { UsageService } from './usage.service.js';

@ApiTags('runs')
@Controller()
export class UsageController {
  constructor(private readonly usage: UsageService) {}

  @Get('workspaces/:ws/usage')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'Tokens and cost of the attempts that ended since then, as far as agents tell' })
  @ApiOkResponse({ type: UsageView })
  ofWorkspace(@WorkspaceId() workspaceId: string, @Query() query: UsageQuery): Promise<UsageView> {
    return this.usage.ofWorkspace(workspaceId, query);
  }
}
