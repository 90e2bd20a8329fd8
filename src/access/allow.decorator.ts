import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiBearerAuth, ApiExtension, ApiParam } from '@nestjs/swagger';
import type { RunRequirement } from './domain/run-access.js';
import type { RouteAccess, RowKind } from './domain/route-access.js';

/** What a handler demands of a person, or of an agent's run (`@Requires`); read by the guards, the OpenAPI document and the route inventory. */
export const AccessDeclaration = Reflector.createDecorator<RouteAccess | { readonly who: 'run'; readonly requirement: RunRequirement }>();

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
  const decorators: MethodDecorator[] = [AccessDeclaration(access), ApiExtension('x-access', access)];
  if (who !== 'public') decorators.push(ApiBearerAuth());
  // Handlers ask for `@WorkspaceId()` rather than for the parameter itself, so the document would not know of it.
  if ('row' in access) decorators.push(ApiParam({ name: access.row.param, schema: { type: 'string', format: 'uuid' } }));
  return applyDecorators(...decorators);
}

function accessOf(who: WithoutWorkspace | InWorkspace, where?: { workspace: string } | { of: RowKind; param: string }): RouteAccess {
  if (who !== 'member' && who !== 'workspace_admin') return { who };
  if (!where) throw new Error(`@Allow('${who}') must say which workspace`);
  const row = 'workspace' in where ? { kind: 'workspaces' as const, param: where.workspace } : { kind: where.of, param: where.param };
  return { who, row };
}
