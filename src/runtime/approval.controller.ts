import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { ApprovalDesk } from './approval-desk.service.js';
import { ApprovalQuery, DecideApprovalBody } from './approval.dto.js';
import { ApprovalPage, ApprovalView } from './approval.view.js';

const ofApproval = { of: 'approvals', param: 'id' } as const;

/** What agents asked for, for people. */
@ApiTags('approvals')
@Controller()
export class ApprovalController {
  constructor(private readonly desk: ApprovalDesk) {}

  @Get('workspaces/:ws/approvals')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'What agents asked for, the newest first.' })
  @ApiOkResponse({ type: ApprovalPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: ApprovalQuery): Promise<ApprovalPage> {
    return this.desk.list(workspaceId, query);
  }

  @Get('approvals/:id')
  @Allow('member', ofApproval)
  @ApiOperation({ summary: 'An approval.' })
  @ApiOkResponse({ type: ApprovalView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<ApprovalView> {
    return this.desk.get(workspaceId, id);
  }

  @Post('approvals/:id/approve')
  @HttpCode(200)
  @Allow('workspace_admin', ofApproval)
  @Idempotent()
  @ApiOperation({ summary: 'Grant it. Whoever asked is woken; an agent to be hired begins to work as it was shown.' })
  @ApiOkResponse({ type: ApprovalView })
  approve(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: DecideApprovalBody,
    @CurrentCall() call: Call,
  ): Promise<ApprovalView> {
    return this.desk.decide(call, workspaceId, id, 'approved', body.note);
  }

  @Post('approvals/:id/reject')
  @HttpCode(200)
  @Allow('workspace_admin', ofApproval)
  @Idempotent()
  @ApiOperation({ summary: 'Refuse it. Whoever asked is woken; an agent to be hired is stopped.' })
  @ApiOkResponse({ type: ApprovalView })
  reject(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: DecideApprovalBody,
    @CurrentCall() call: Call,
  ): Promise<ApprovalView> {
    return this.desk.decide(call, workspaceId, id, 'rejected', body.note);
  }
}
