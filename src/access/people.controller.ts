import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { UuidInPath } from '../platform/http/uuid.js';
import { Allow } from './allow.decorator.js';
import type { Call } from './call.js';
import { CurrentCall } from './current-call.decorator.js';
import { Idempotent } from './idempotent.decorator.js';
import { CreateTokenBody, CreateUserBody } from './people.dto.js';
import { PeopleService } from './people.service.js';
import { MeView, NewTokenView, UserView } from './people.view.js';

@ApiTags('people')
@Controller()
export class PeopleController {
  constructor(private readonly people: PeopleService) {}

  @Get('me')
  @Allow('person')
  @ApiOperation({ summary: 'Who am I, and where have I a role' })
  @ApiOkResponse({ type: MeView })
  me(@CurrentCall() call: Call): Promise<MeView> {
    return this.people.me(call.person);
  }

  @Post('users')
  @Allow('instance_admin')
  @Idempotent()
  @ApiOperation({ summary: 'Make a user' })
  @ApiCreatedResponse({ type: UserView })
  createUser(@CurrentCall() call: Call, @Body() body: CreateUserBody): Promise<UserView> {
    return this.people.createUser(call, body);
  }

  @Post('users/:id/tokens')
  @Allow('instance_admin')
  @Idempotent()
  @ApiOperation({ summary: 'Make an access token for a user; its text is shown once' })
  @ApiCreatedResponse({ type: NewTokenView })
  createToken(@CurrentCall() call: Call, @Param('id', UuidInPath) id: string, @Body() body: CreateTokenBody): Promise<NewTokenView> {
    return this.people.createToken(call, id, body);
  }

  @Delete('tokens/:id')
  @HttpCode(204)
  @Allow('person')
  @ApiOperation({ summary: "Revoke an access token at once: one's own, or as an instance admin anybody's" })
  @ApiNoContentResponse()
  revokeToken(@CurrentCall() call: Call, @Param('id', UuidInPath) id: string): Promise<void> {
    return this.people.revokeToken(call.person, id);
  }
}
