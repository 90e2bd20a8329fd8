import { Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { UnreadBody } from '../platform/http/json-body.js';
import { AccessDeclaration } from './allow.decorator.js';
import { referencesOf, type Fields, type Reference, type RunIdentity, type RunRequirement } from './domain/run-access.js';
import type { FoundRow } from './domain/run-verdict.js';
import { RunDoor } from './run-door.service.js';
import { idempotentRequest } from './idempotent-request.js';
import { IdempotentRoute } from './idempotent.decorator.js';
import { admitRun, runAdmissionOf } from './run-admission.js';

type Asked = FastifyRequest<{ Params: Record<string, string> }>;

const requestOf = (context: ExecutionContext): Asked => context.switchToHttp().getRequest<Asked>();

/** Path and body as one: a route names a row in either. The path wins. */
const fieldsOf = (request: Asked): Fields => ({
  ...(typeof request.body === 'object' && request.body !== null ? request.body : {}),
  ...request.params,
  ...('*' in request.params && { path: restOfPath(request.raw.url ?? '', request.routeOptions.url ?? '') }),
});

/**
 * What stands for the `*` of a pattern, its parts decoded once. A part that would fall into two is left as it was sent, for
 * whoever reads paths to refuse.
 */
function restOfPath(url: string, pattern: string): string {
  const [path = ''] = url.split('?');
  return path
    .slice(pattern.length - 1)
    .split('/')
    .map((part) => {
      const decoded = decodedOr(part);
      return decoded.includes('/') ? part : decoded;
    })
    .join('/');
}

function decodedOr(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** First: whose run this is. Without an answer nothing else is asked. */
@Injectable()
export class RunTokenGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly door: RunDoor,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const declared = this.reflector.get(AccessDeclaration, context.getHandler());
    if (declared?.who !== 'run') throw new Error('a guard of runs stands before a route that is not for them');
    const request = requestOf(context);
    const run = await this.door.identify(request.headers.authorization);
    admitRun(request, { run, requirement: declared.requirement, fields: fieldsOf(request), idempotency: null, found: [] });
    return true;
  }
}

@Injectable()
export class CapabilityGuard implements CanActivate {
  constructor(private readonly door: RunDoor) {}

  canActivate(context: ExecutionContext): boolean {
    const { run, requirement } = runAdmissionOf(requestOf(context));
    this.door.assertCapable(run, requirement);
    return true;
  }
}

@Injectable()
export class WorkspaceScopeGuard implements CanActivate {
  constructor(private readonly door: RunDoor) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const admission = runAdmissionOf(request);
    admitRun(request, { ...admission, found: await this.door.assertInWorkspace(admission.run, references(admission)) });
    return true;
  }
}

@Injectable()
export class TaskScopeGuard implements CanActivate {
  constructor(private readonly door: RunDoor) {}

  canActivate(context: ExecutionContext): boolean {
    const admission = runAdmissionOf(requestOf(context));
    this.door.assertInTaskScope(admission.run, references(admission));
    return true;
  }
}

/** Last: the rows are there, and so is a body. And the request is known well enough to be repeated. */
@Injectable()
export class ExistenceGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly door: RunDoor,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const admission = runAdmissionOf(request);
    this.door.assertThere(admission.found);
    UnreadBody.assertNone(request.body);
    if (this.reflector.get(IdempotentRoute, context.getHandler())) {
      const idempotency = idempotentRequest(`run:${admission.run.runId}`, {
        method: request.method,
        pattern: request.routeOptions.url ?? '',
        params: request.params,
        header: request.headers['idempotency-key'],
        body: request.body,
      });
      admitRun(request, { ...admission, idempotency });
    }
    return true;
  }
}

const references = ({
  run,
  requirement,
  fields,
}: {
  readonly run: RunIdentity;
  readonly requirement: RunRequirement;
  readonly fields: Fields;
  readonly found: readonly FoundRow[];
}): Reference[] => referencesOf(requirement.names, fields, run);
