import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiConflictResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { ErrorView } from '../platform/http/error.view.js';
import { UuidInPath } from '../platform/http/uuid.js';
import { PermissionAnswers } from './permission-answers.service.js';
import { PermissionAnswerBody } from './permission.dto.js';
import { AnsweredPermissionView } from './permission.view.js';

@ApiTags('inbox')
@Controller('workspaces/:ws/inbox/items/:id/answer')
export class PermissionController {
  constructor(private readonly answers: PermissionAnswers) {}

  @Post()
  @HttpCode(200)
  @Allow('member', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({
    summary: 'Answer an agent that asks permission, and its turn goes on; or grant what it was refused for, from its next run on',
  })
  @ApiOkResponse({ type: AnsweredPermissionView })
  @ApiConflictResponse({ type: ErrorView, description: '`permission_answered`, `permission_gone`' })
  answer(
    @CurrentCall() call: Call,
    @WorkspaceId() workspaceId: string,
    @Param('id', UuidInPath) itemId: string,
    @Body() body: PermissionAnswerBody,
  ): Promise<AnsweredPermissionView> {
    return this.answers.answer(call, workspaceId, itemId, body.decision);
  }
}
