import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { UuidInPath } from '../platform/http/uuid.js';
import type { Page } from '../platform/http/page.view.js';
import { ProviderHoldDesk } from './provider-hold-desk.service.js';
import { LiftedHoldView, ProviderHoldPage, ProviderHoldView } from './provider-hold.view.js';

@ApiTags('provider holds')
@Controller('workspaces/:ws/provider-holds')
export class ProviderHoldController {
  constructor(private readonly holds: ProviderHoldDesk) {}

  @Get()
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'Providers that take no more work until a limit resets, oldest hold first' })
  @ApiOkResponse({ type: ProviderHoldPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<Page<ProviderHoldView>> {
    return this.holds.list(workspaceId, query);
  }

  @Delete(':id')
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Lift a hold: its runs may go at once' })
  @ApiOkResponse({ type: LiftedHoldView })
  lift(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string, @Param('id', UuidInPath) id: string): Promise<LiftedHoldView> {
    return this.holds.lift(call, workspaceId, id);
  }
}
