import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { ManualRunDto } from '../runs/run.dto.js';
import { StopView, WakeAnswerView } from '../runs/run.view.js';
import { RunCommands } from './run-commands.service.js';

@ApiTags('runs')
@Controller()
export class RunCommandsController {
  constructor(private readonly runs: RunCommands) {}

  @Post('agents/:id/runs')
  @HttpCode(202)
  @Allow('member', { of: 'agents', param: 'id' })
  @Idempotent()
  @ApiOperation({ summary: 'Wake an agent by hand' })
  @ApiAcceptedResponse({ type: WakeAnswerView })
  ask(
    @CurrentCall() call: Call,
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: ManualRunDto,
  ): Promise<WakeAnswerView> {
    return this.runs.askForRun(call, workspaceId, id, body);
  }

  @Post('runs/:id/cancel')
  @HttpCode(202)
  @Allow('member', { of: 'runs', param: 'id' })
  @Idempotent()
  @ApiOperation({ summary: 'End a run' })
  @ApiAcceptedResponse({ type: StopView })
  cancel(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<StopView> {
    return this.runs.cancel(call, workspaceId, id);
  }
}
