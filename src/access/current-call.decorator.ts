import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { admissionOf } from './admission.js';
import type { Call } from './call.js';
import { runAdmissionOf } from './run-admission.js';
import type { RunAdmission } from './run-admission.js';

export function callOf(request: object): Call {
  const { call } = admissionOf(request);
  if (!call) throw new Error('the route lets anyone in, so it has no caller');
  return call;
}

export function workspaceIdOf(request: object): string {
  const { workspaceId } = admissionOf(request);
  if (workspaceId === null) throw new Error('the route names no workspace');
  return workspaceId;
}

/** The person who calls, as admitted: `@CurrentCall() call: Call`. */
export const CurrentCall = createParamDecorator((_: unknown, context: ExecutionContext): Call =>
  callOf(context.switchToHttp().getRequest<object>()),
);

/** The workspace the guard found for the route's row: the only source of a `workspaceId` in a controller. */
export const WorkspaceId = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  workspaceIdOf(context.switchToHttp().getRequest<object>()),
);

/** The run that calls and what it has been let in for: `@CurrentRun() admission: RunAdmission`. */
export const CurrentRun = createParamDecorator((_: unknown, context: ExecutionContext): RunAdmission =>
  runAdmissionOf(context.switchToHttp().getRequest<object>()),
);
