import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import { WorkspaceId } from '../access/current-call.decorator.js';
import { StallsDesk } from './stalls-desk.service.js';
import { StallsView } from './stalls.view.js';

@ApiTags('dashboard')
@Controller()
export class StallsController {
  constructor(private readonly stalls: StallsDesk) {}

  @Get('workspaces/:ws/stalls')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'What stalls now: signals nothing came of, decisions nobody makes, turns gone quiet' })
  @ApiOkResponse({ type: StallsView })
  of(@WorkspaceId() workspaceId: string): Promise<StallsView> {
    return this.stalls.of(workspaceId);
  }
}
