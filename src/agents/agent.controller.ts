import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { AgentDirectory } from './agent-directory.service.js';
import { AgentSwitches } from './agent-switches.service.js';
import { AgentQuery, ChangeAgentBody, HireAgentBody, PauseAgentBody } from './agent.dto.js';
import { AgentPage, AgentView } from './agent.view.js';

const ofAgent = { of: 'agents', param: 'id' } as const;

/** The staff directory, for people. */
@ApiTags('agents')
@Controller()
export class AgentController {
  constructor(
    private readonly directory: AgentDirectory,
    private readonly switches: AgentSwitches,
    private readonly commands: IdempotentCommands,
  ) {}

  @Post('workspaces/:ws/agents')
  @Allow('workspace_admin', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Hire an agent; it is active at once.' })
  @ApiCreatedResponse({ type: AgentView })
  hire(@WorkspaceId() workspaceId: string, @Body() body: HireAgentBody, @CurrentCall() call: Call): Promise<AgentView> {
    return this.commands.once(call, workspaceId, (tx) => this.directory.hire(tx, workspaceId, body, call));
  }

  @Get('workspaces/:ws/agents')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The agents of a workspace, in the order they were hired.' })
  @ApiOkResponse({ type: AgentPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: AgentQuery): Promise<AgentPage> {
    return this.directory.list(workspaceId, query);
  }

  @Get('agents/:id')
  @Allow('member', ofAgent)
  @ApiOperation({ summary: 'An agent.' })
  @ApiOkResponse({ type: AgentView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string, @CurrentCall() call: Call): Promise<AgentView> {
    return this.directory.get(workspaceId, id, call);
  }

  @Patch('agents/:id')
  @Allow('workspace_admin', ofAgent)
  @ApiOperation({ summary: 'Change an agent. What is left out stays.' })
  @ApiOkResponse({ type: AgentView })
  change(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: ChangeAgentBody,
    @CurrentCall() call: Call,
  ): Promise<AgentView> {
    return this.directory.change(workspaceId, id, body, call);
  }

  @Delete('agents/:id')
  @HttpCode(204)
  @Allow('workspace_admin', ofAgent)
  @ApiOperation({ summary: 'Archive an agent: no more wakes, its history stays.' })
  @ApiNoContentResponse()
  archive(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<void> {
    return this.switches.archive(workspaceId, id);
  }

  @Post('agents/:id/pause')
  @HttpCode(200)
  @Allow('workspace_admin', ofAgent)
  @ApiOperation({ summary: 'Claim nothing more for it; what runs goes on, what is woken waits.' })
  @ApiOkResponse({ type: AgentView })
  pause(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Body() body: PauseAgentBody): Promise<AgentView> {
    return this.switches.pause(workspaceId, id, body.reason);
  }

  @Post('agents/:id/unpause')
  @HttpCode(200)
  @Allow('workspace_admin', ofAgent)
  @ApiOperation({ summary: 'End its pause, whoever began it. The failure counter stays.' })
  @ApiOkResponse({ type: AgentView })
  unpause(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<AgentView> {
    return this.switches.unpause(workspaceId, id);
  }

  @Post('agents/:id/stop')
  @HttpCode(200)
  @Allow('workspace_admin', ofAgent)
  @ApiOperation({ summary: 'Take it off work: new wakes are refused, waiting ones wait, what runs goes on.' })
  @ApiOkResponse({ type: AgentView })
  stop(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<AgentView> {
    return this.switches.stop(workspaceId, id);
  }

  @Post('agents/:id/start')
  @HttpCode(200)
  @Allow('workspace_admin', ofAgent)
  @ApiOperation({ summary: 'Put a stopped agent back to work.' })
  @ApiOkResponse({ type: AgentView })
  start(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<AgentView> {
    return this.switches.start(workspaceId, id);
  }
}
