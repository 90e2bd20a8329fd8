import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { WorkflowDesk } from './workflow-desk.service.js';
import { ChangeWorkflowBody, CreateWorkflowBody } from './workflow.dto.js';
import { WorkflowPage, WorkflowView } from './workflow.view.js';

const ofWorkflow = { of: 'workflows', param: 'id' } as const;

/** How work goes, for people. */
@ApiTags('workflows')
@Controller()
export class WorkflowController {
  constructor(
    private readonly desk: WorkflowDesk,
    private readonly commands: IdempotentCommands,
  ) {}

  @Post('workspaces/:ws/workflows')
  @Allow('workspace_admin', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Make a workflow with its steps and who sits at them.' })
  @ApiCreatedResponse({ type: WorkflowView })
  create(@WorkspaceId() workspaceId: string, @Body() body: CreateWorkflowBody, @CurrentCall() call: Call): Promise<WorkflowView> {
    return this.commands.once(call, workspaceId, (tx) => this.desk.create(tx, workspaceId, body));
  }

  @Get('workspaces/:ws/workflows')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The workflows of a workspace, the oldest first.' })
  @ApiOkResponse({ type: WorkflowPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<Page<WorkflowView>> {
    return this.desk.list(workspaceId, query);
  }

  @Get('workflows/:id')
  @Allow('member', ofWorkflow)
  @ApiOperation({ summary: 'A workflow.' })
  @ApiOkResponse({ type: WorkflowView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<WorkflowView> {
    return this.desk.get(workspaceId, id);
  }

  @Patch('workflows/:id')
  @Allow('workspace_admin', ofWorkflow)
  @ApiOperation({ summary: 'Change a workflow. A step that tasks stand on, or have stood on, stays. Tasks do not move by it.' })
  @ApiOkResponse({ type: WorkflowView })
  change(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Body() body: ChangeWorkflowBody): Promise<WorkflowView> {
    return this.desk.change(workspaceId, id, body);
  }

  @Delete('workflows/:id')
  @HttpCode(204)
  @Allow('workspace_admin', ofWorkflow)
  @ApiOperation({ summary: 'Delete a workflow that no task goes through.' })
  @ApiNoContentResponse()
  remove(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<void> {
    return this.desk.remove(workspaceId, id);
  }
}
