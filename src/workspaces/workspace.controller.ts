import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiConflictResponse, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { ErrorView } from '../platform/http/error.view.js';
import { PageQuery } from '../platform/http/page.dto.js';
import type { Page } from '../platform/http/page.view.js';
import { UuidInPath } from '../platform/http/uuid.js';
import { MemberService } from './member.service.js';
import { SecretNameInPath } from './secret-name.pipe.js';
import { SecretService } from './secret.service.js';
import { ChangeSettingsBody, CreateWorkspaceBody, PutMemberBody, PutSecretBody } from './workspace.dto.js';
import { WorkspaceService } from './workspace.service.js';
import { MemberPage, MemberView, SecretPage, SecretView, WorkspacePage, WorkspaceSettingsView, WorkspaceView } from './workspace.view.js';

@ApiTags('workspaces')
@Controller('workspaces')
export class WorkspaceController {
  constructor(
    private readonly workspaces: WorkspaceService,
    private readonly members: MemberService,
    private readonly secrets: SecretService,
  ) {}

  @Post()
  @Allow('instance_admin')
  @Idempotent()
  @ApiOperation({ summary: 'Make a workspace; whoever makes it is its first admin' })
  @ApiCreatedResponse({ type: WorkspaceView })
  create(@CurrentCall() call: Call, @Body() body: CreateWorkspaceBody): Promise<WorkspaceView> {
    return this.workspaces.create(call, body);
  }

  @Get()
  @Allow('person')
  @ApiOperation({ summary: 'The workspaces one has a role in' })
  @ApiOkResponse({ type: WorkspacePage })
  list(@CurrentCall() call: Call, @Query() query: PageQuery): Promise<Page<WorkspaceView>> {
    return this.workspaces.list(call.person, query);
  }

  @Get(':ws')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'A workspace' })
  @ApiOkResponse({ type: WorkspaceView })
  find(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string): Promise<WorkspaceView> {
    return this.workspaces.find(call.person, workspaceId);
  }

  @Get(':ws/settings')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'How the workspace treats failures, hires, interruptions and provider limits' })
  @ApiOkResponse({ type: WorkspaceSettingsView })
  settings(@WorkspaceId() workspaceId: string): Promise<WorkspaceSettingsView> {
    return this.workspaces.settings(workspaceId);
  }

  @Patch(':ws/settings')
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Change some of the settings' })
  @ApiOkResponse({ type: WorkspaceSettingsView })
  changeSettings(@WorkspaceId() workspaceId: string, @Body() body: ChangeSettingsBody): Promise<WorkspaceSettingsView> {
    return this.workspaces.changeSettings(workspaceId, body);
  }

  @Get(':ws/members')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'Who has a role here' })
  @ApiOkResponse({ type: MemberPage })
  listMembers(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<Page<MemberView>> {
    return this.members.list(workspaceId, query);
  }

  @Put(':ws/members/:user')
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Let a person in, or change their role' })
  @ApiOkResponse({ type: MemberView })
  @ApiConflictResponse({ type: ErrorView, description: '`last_admin`' })
  putMember(
    @WorkspaceId() workspaceId: string,
    @Param('user', UuidInPath) userId: string,
    @Body() body: PutMemberBody,
  ): Promise<MemberView> {
    return this.members.putRole(workspaceId, userId, body.role);
  }

  @Delete(':ws/members/:user')
  @HttpCode(204)
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: "Take a person's role away; their access ends at once" })
  @ApiNoContentResponse()
  @ApiConflictResponse({ type: ErrorView, description: '`last_admin`' })
  removeMember(@WorkspaceId() workspaceId: string, @Param('user', UuidInPath) userId: string): Promise<void> {
    return this.members.remove(workspaceId, userId);
  }

  @Get(':ws/secrets')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The names of the secrets; values never leave' })
  @ApiOkResponse({ type: SecretPage })
  listSecrets(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<Page<SecretView>> {
    return this.secrets.list(workspaceId, query);
  }

  @Put(':ws/secrets/:name')
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Set or replace a secret' })
  @ApiOkResponse({ type: SecretView })
  putSecret(
    @WorkspaceId() workspaceId: string,
    @Param('name', SecretNameInPath) name: string,
    @Body() body: PutSecretBody,
  ): Promise<SecretView> {
    return this.secrets.put(workspaceId, name, body.value);
  }

  @Delete(':ws/secrets/:name')
  @HttpCode(204)
  @Allow('workspace_admin', { workspace: 'ws' })
  @ApiOperation({ summary: 'Delete a secret; agents that are given it fail to start' })
  @ApiNoContentResponse()
  removeSecret(@WorkspaceId() workspaceId: string, @Param('name', SecretNameInPath) name: string): Promise<void> {
    return this.secrets.remove(workspaceId, name);
  }
}
