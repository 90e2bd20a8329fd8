import { applyDecorators, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import { AccessDeclaration } from './allow.decorator.js';
import type { RunRequirement } from './domain/run-access.js';
import { CapabilityGuard, ExistenceGuard, RunTokenGuard, TaskScopeGuard, WorkspaceScopeGuard } from './run.guard.js';

/** The guards of every route for agents, in the one order there is (contract 12). */
export const RUN_GUARDS = [RunTokenGuard, CapabilityGuard, WorkspaceScopeGuard, TaskScopeGuard, ExistenceGuard] as const;

/** What a run must hold to call this route. People's tokens open none of them. */
export const Requires = (requirement: RunRequirement): MethodDecorator =>
  applyDecorators(
    AccessDeclaration({ who: 'run', requirement }),
    UseGuards(...RUN_GUARDS),
    ApiExtension('x-access', { who: 'run', capability: requirement.capability }),
    ApiBearerAuth(),
  );
