import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import { ApiConflictResponse, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator.js';
import type { Call } from '../access/call.js';
import { CurrentCall, WorkspaceId } from '../access/current-call.decorator.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import type { Actor } from '../platform/actor.js';
import { ErrorView } from '../platform/http/error.view.js';
import { GateDesk } from './gate-desk.service.js';
import { AdvanceBody, DecideBody, PutParticipantBody, RemoveParticipantBody } from './gate.dto.js';
import { DecisionView, ParticipantsView } from './gate.view.js';
import { TaskView } from './task.view.js';

const ofTask = { of: 'tasks', param: 'id' } as const;
const actorOf = ({ person }: Call): Actor => ({ kind: 'user', id: person.userId });

/** Who decides on a task, what they decide, and the way on. */
@ApiTags('tasks')
@Controller('tasks/:id')
export class GateController {
  constructor(
    private readonly desk: GateDesk,
    private readonly commands: IdempotentCommands,
  ) {}

  @Get('participants')
  @Allow('member', ofTask)
  @ApiOperation({ summary: 'Who sits at the steps of a task, and what they have decided.' })
  @ApiOkResponse({ type: ParticipantsView })
  participants(@WorkspaceId() workspaceId: string, @Param('id') id: string): Promise<ParticipantsView> {
    return this.desk.participants(workspaceId, id);
  }

  @Put('participants')
  @Allow('workspace_admin', ofTask)
  @ApiOperation({ summary: 'Give somebody a seat at a step of this task alone, in place of the one they have there for all tasks.' })
  @ApiOkResponse({ type: ParticipantsView })
  put(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: PutParticipantBody,
    @CurrentCall() call: Call,
  ): Promise<ParticipantsView> {
    return this.desk.putParticipant(workspaceId, id, body, actorOf(call));
  }

  @Delete('participants')
  @Allow('workspace_admin', ofTask)
  @ApiOperation({ summary: 'Take a seat of this task alone away.' })
  @ApiOkResponse({ type: ParticipantsView })
  remove(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: RemoveParticipantBody,
    @CurrentCall() call: Call,
  ): Promise<ParticipantsView> {
    return this.desk.removeParticipant(workspaceId, id, body, actorOf(call));
  }

  @Post('decisions')
  @Allow('member', ofTask)
  @Idempotent()
  @ApiOperation({ summary: 'Decide at the step where the task stands: at one’s own seat or, as an admin, for an agent that does not.' })
  @ApiCreatedResponse({ type: DecisionView })
  decide(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: DecideBody,
    @CurrentCall() call: Call,
  ): Promise<DecisionView> {
    return this.commands.once(call, workspaceId, (tx) => this.desk.decide(tx, workspaceId, id, body, call));
  }

  @Post('advance')
  @HttpCode(200)
  @Allow('member', ofTask)
  @Idempotent()
  @ApiOperation({ summary: 'Mark the step complete and go on, or to a step named.' })
  @ApiOkResponse({ type: TaskView })
  @ApiConflictResponse({ type: ErrorView, description: '`approvals_pending`: it has gone to those who have to approve it instead.' })
  advance(
    @WorkspaceId() workspaceId: string,
    @Param('id') id: string,
    @Body() body: AdvanceBody,
    @CurrentCall() call: Call,
  ): Promise<TaskView> {
    return this.desk.advance(workspaceId, id, body, call);
  }
}
