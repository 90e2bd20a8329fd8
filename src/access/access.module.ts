import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from './access.guard.js';
import { AccessRepository } from './access.repository.js';
import { Doorkeeper } from './doorkeeper.service.js';
import { FirstAdminService } from './first-admin.service.js';
import { IdempotencyCron } from './idempotency.cron.js';
import { IdempotentCommands } from './idempotent-commands.service.js';
import { PeopleController } from './people.controller.js';
import { RunDoor } from './run-door.service.js';
import { RunKeys } from './run-keys.js';
import { RunTokens } from './run-tokens.service.js';
import { PeopleService } from './people.service.js';
import { ProbesController } from './probes.controller.js';

/** The front desk: who may come in, and that nobody gets further than they may. Importing it guards every route of the application. */
@Module({
  controllers: [PeopleController, ProbesController],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    AccessRepository,
    Doorkeeper,
    FirstAdminService,
    IdempotencyCron,
    IdempotentCommands,
    PeopleService,
    RunDoor,
    RunKeys,
    RunTokens,
  ],
  exports: [Doorkeeper, IdempotentCommands, RunDoor, RunTokens],
})
export class AccessModule {}
