import { Injectable, Logger } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { OfficeError } from '../platform/errors/office-error.js';
import { UnreadBody } from '../platform/http/json-body.js';
import { AccessRepository } from './access.repository.js';
import { bearerToken } from './access-token.js';
import { admit } from './admission.js';
import { AccessDeclaration } from './allow.decorator.js';
import { judge } from './domain/verdict.js';
import type { Verdict } from './domain/verdict.js';
import { IdempotentRoute } from './idempotent.decorator.js';
import { idempotentRequest } from './idempotent-request.js';

const REFUSALS = { unauthenticated: 'unauthenticated', forbidden: 'forbidden', not_found: 'not_found' } as const satisfies Record<
  Exclude<Verdict, 'allowed'>,
  string
>;

/**
 * The one door. It finds out who calls and in whose workspace the route's row lies, asks the rule, and refuses whatever
 * the rule did not allow, a route without a declaration included. It changes nothing.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly logger = new Logger(AccessGuard.name);

  constructor(
    private readonly reflector: Reflector,
    private readonly access: AccessRepository,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const declared = this.reflector.get(AccessDeclaration, context.getHandler());
    if (!declared) {
      this.logger.error({ route: `${context.getClass().name}.${context.getHandler().name}` }, 'route without an access declaration');
      throw new OfficeError('forbidden');
    }
    // Messages of a socket have no request to judge: whoever opens sockets admits them before the upgrade (and declares it).
    if (context.getType() !== 'http') return true;
    // Agents have guards of their own behind this one (`@Requires` puts both there); without them there would be no run to act for.
    if (declared.who === 'run') return true;

    const request = context.switchToHttp().getRequest<FastifyRequest<{ Params: Record<string, string> }>>();
    const token = declared.who === 'public' ? null : bearerToken(request.headers.authorization);
    const person = token === null ? null : await this.access.personOf(token);
    const row = 'row' in declared ? declared.row : null;
    const standing = person && row ? await this.access.standing(person.userId, row.kind, request.params[row.param] ?? '') : null;

    const { method } = request;
    const verdict = judge(declared, { method, fromThisMachine: isFromThisMachine(request), person, role: standing?.role ?? null });
    if (verdict !== 'allowed') throw new OfficeError(REFUSALS[verdict]);
    UnreadBody.assertNone(request.body);

    const call = person && {
      person,
      idempotency: this.reflector.get(IdempotentRoute, context.getHandler())
        ? idempotentRequest(`user:${person.userId}`, {
            method,
            pattern: request.routeOptions.url ?? '',
            params: request.params,
            header: request.headers['idempotency-key'],
            body: request.body,
          })
        : null,
    };
    admit(request, { call, workspaceId: standing?.workspaceId ?? null });
    return true;
  }
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;
const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** A proxy on this machine connects from loopback too, so a request that says it was passed on counts as a stranger's. */
const isFromThisMachine = (request: FastifyRequest): boolean =>
  LOOPBACK.test(request.socket.remoteAddress ?? '') && PASSED_ON.every((header) => request.headers[header] === undefined);
