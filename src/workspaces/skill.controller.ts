import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { ChangeSkillBody, CreateSkillBody } from './skill.dto.js';
import { SkillService } from './skill.service.js';
import { SkillPage, SkillView } from './skill.view.js';

const ofSkill = { of: 'skills', param: 'id' } as const;

/** What agents of a workspace can read up on. What a skill says, every agent may do, so admins write them. */
@ApiTags('skills')
@Controller()
export class SkillController {
  constructor(
    private readonly skills: SkillService,
    private readonly commands: IdempotentCommands,
  ) {}

  @Post('workspaces/:ws/skills')
  @Allow('workspace_admin', { workspace: 'ws' })
  @Idempotent()
  @ApiOperation({ summary: 'Write a skill; agents find it in their folder from their next run on.' })
  @ApiCreatedResponse({ type: SkillView })
  create(@WorkspaceId() workspaceId: string, @Body() body: CreateSkillBody, @CurrentCall() call: Call): Promise<SkillView> {
    return this.commands.once(call, workspaceId, (tx) => this.skills.create(tx, workspaceId, body));
  }

  @Get('workspaces/:ws/skills')
  @Allow('member', { workspace: 'ws' })
  @ApiOperation({ summary: 'The skills of a workspace, those of the office included.' })
  @ApiOkResponse({ type: SkillPage })
  list(@WorkspaceId() workspaceId: string, @Query() query: PageQuery): Promise<SkillPage> {
    return this.skills.list(workspaceId, query);
  }

  @Get('skills/:id')
  @Allow('member', ofSkill)
  @ApiOperation({ summary: 'A skill.' })
  @ApiOkResponse({ type: SkillView })
  get(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<SkillView> {
    return this.skills.get(workspaceId, id);
  }

  @Patch('skills/:id')
  @Allow('workspace_admin', ofSkill)
  @ApiOperation({ summary: 'Change a skill. What is left out stays; those of the office are read-only.' })
  @ApiOkResponse({ type: SkillView })
  change(@WorkspaceId() workspaceId: string, @Param('id') id: string, @Body() body: ChangeSkillBody): Promise<SkillView> {
    return this.skills.change(workspaceId, id, body);
  }

  @Delete('skills/:id')
  @HttpCode(204)
  @Allow('workspace_admin', ofSkill)
  @ApiOperation({ summary: 'Delete a skill; those of the office are read-only.' })
  @ApiNoContentResponse()
  remove(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<void> {
    return this.skills.removeBy(workspaceId, id);
  }
}
