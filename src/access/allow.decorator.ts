import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import type { RouteAccess, RowKind } from './domain/route-access.js';

/** What a handler demands; read by the guard, the OpenAPI document and the route inventory. */
export const AccessDeclaration = Reflector.createDecorator<RouteAccess>();

type WithoutWorkspace = 'public' | 'loopback_or_instance_admin' | 'person' | 'instance_admin';
type InWorkspace = 'member' | 'workspace_admin';

/**
 * Who may call this route. A route without it lets nobody in.
 * `@Allow('member', { workspace: 'ws' })` for a workspace's id in the path, `@Allow('member', { of: 'tasks', param: 'id' })`
 * for a row's.
 */
export function Allow(who: WithoutWorkspace): MethodDecorator;
export function Allow(who: InWorkspace, where: { workspace: string } | { of: RowKind; param: string }): MethodDecorator;
export function Allow(
  who: WithoutWorkspace | InWorkspace,
  where?: { workspace: string } | { of: RowKind; param: string },
): MethodDecorator {
  const access = accessOf(who, where);
  const decorators = [AccessDeclaration(access), ApiExtension('x-access', access)];
  return applyDecorators(...decorators, ...(who === 'public' ? [] : [ApiBearerAuth()]));
}

function accessOf(who: WithoutWorkspace | InWorkspace, where?: { workspace: string } | { of: RowKind; param: string }): RouteAccess {
  if (who !== 'member' && who !== 'workspace_admin') return { who };
  if (!where) throw new Error(`@Allow('${who}') must say which workspace`);
  const row = 'workspace' in where ? { kind: 'workspaces' as const, param: where.workspace } : { kind: where.of, param: where.param };
  return { who, row };
}
