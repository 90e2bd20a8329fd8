import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiConflictResponse,
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { ErrorView } from '../platform/http/error.view.js';
import { UuidInPath } from '../platform/http/uuid.js';
import { InboxDesk } from './inbox-desk.service.js';
import { DismissItemsBody } from './recovery.dto.js';
import { FixedItemsView, FixedView, RefusedItemView, ResumedView, WorkspaceSwitchView } from './recovery.view.js';
import { SessionCommands } from './session-commands.service.js';
import { WorkspaceSwitch } from './workspace-switch.service.js';

/** What people do when something went wrong. */
@ApiTags('recovery')
@ApiExtraModels(FixedView, RefusedItemView)
@Controller()
export class RecoveryController {
  constructor(
    private readonly inbox: InboxDesk,
    private readonly sessions: SessionCommands,
    private readonly workspaces: WorkspaceSwitch,
  ) {}

  @Post('workspaces/:ws/inbox/items/:id/dismiss')
  @HttpCode(200)
  @Allow('member', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Mark fixed: the cause is gone, what failed tries again' })
  @ApiOkResponse({ type: FixedView })
  @ApiConflictResponse({ type: ErrorView, description: '`pause_changed`, `paused_by_person`, `agent_not_active`, `item_not_fixable`' })
  dismiss(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string, @Param('id', UuidInPath) itemId: string): Promise<FixedView> {
    return this.inbox.dismiss(call, workspaceId, itemId);
  }

  @Post('workspaces/:ws/inbox/dismiss')
  @HttpCode(200)
  @Allow('member', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Mark fixed many items, each by itself' })
  @ApiOkResponse({
    schema: {
      type: 'object',
      required: ['items'],
      properties: {
        items: { type: 'array', items: { oneOf: [{ $ref: getSchemaPath(FixedView) }, { $ref: getSchemaPath(RefusedItemView) }] } },
      },
    },
  })
  dismissAll(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string, @Body() body: DismissItemsBody): Promise<FixedItemsView> {
    return this.inbox.dismissAll(call, workspaceId, body.item_ids);
  }

  @Post('tasks/:id/sessions/:sid/resume')
  @HttpCode(202)
  @Allow('member', { of: 'tasks', param: 'id' })
  @Idempotent()
  @ApiOperation({ summary: 'Resume a failed session where it stopped' })
  @ApiAcceptedResponse({ type: ResumedView })
  @ApiConflictResponse({ type: ErrorView, description: '`session_not_failed`, `task_not_open`, `agent_not_active`' })
  resume(
    @CurrentCall() call: Call,
    @WorkspaceId() workspaceId: string,
    @Param('id') taskId: string,
    @Param('sid', UuidInPath) sessionId: string,
  ): Promise<ResumedView> {
    return this.sessions.resume(call, workspaceId, taskId, sessionId);
  }

  @Post('tasks/:id/sessions/:sid/start-fresh')
  @HttpCode(202)
  @Allow('member', { of: 'tasks', param: 'id' })
  @Idempotent()
  @ApiOperation({ summary: 'Go on with a failed session in a new conversation' })
  @ApiAcceptedResponse({ type: ResumedView })
  @ApiConflictResponse({ type: ErrorView, description: '`session_not_failed`, `task_not_open`, `agent_not_active`' })
  startFresh(
    @CurrentCall() call: Call,
    @WorkspaceId() workspaceId: string,
    @Param('id') taskId: string,
    @Param('sid', UuidInPath) sessionId: string,
  ): Promise<ResumedView> {
    return this.sessions.startFresh(call, workspaceId, taskId, sessionId);
  }

  @Post('workspaces/:ws/stop')
  @HttpCode(202)
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Stop everything that runs in the workspace and claim nothing more' })
  @ApiAcceptedResponse({ type: WorkspaceSwitchView })
  stop(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string): Promise<WorkspaceSwitchView> {
    return this.workspaces.stop(call, workspaceId);
  }

  @Post('workspaces/:ws/start')
  @HttpCode(200)
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Let a stopped workspace work again; what was stopped does not begin by itself' })
  @ApiOkResponse({ type: WorkspaceSwitchView })
  start(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string): Promise<WorkspaceSwitchView> {
    return this.workspaces.start(call, workspaceId);
  }
}
