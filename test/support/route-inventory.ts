import 'reflect-metadata';
import { RequestMethod } from '@nestjs/common';
import type { INestApplication, Type } from '@nestjs/common';
import { GUARDS_METADATA, METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, ModulesContainer, Reflector } from '@nestjs/core';
import { getMetadataStorage } from 'class-validator';
import { AccessDeclaration } from '../../src/access/allow.decorator.js';
import type { RunRequirement } from '../../src/access/domain/run-access.js';
import type { RouteAccess } from '../../src/access/domain/route-access.js';
import { IdempotentRoute } from '../../src/access/idempotent.decorator.js';

export interface RouteEntry {
  readonly method: string;
  readonly path: string;
  readonly handler: string;
  /** `member of tasks :id`; `UNDECLARED` lets nobody in. */
  readonly access: string;
  /** Guards of its own, in the order in which they are asked. */
  readonly guards: readonly string[];
  readonly idempotent: boolean;
  /** Arguments that nothing checks: neither a DTO class, nor a pipe, nor the guard (which resolves the parameter of the access). */
  readonly unchecked: readonly string[];
}

interface RouteArgument {
  readonly index: number;
  readonly data?: string;
  readonly pipes: readonly unknown[];
}

/** Where Nest keeps what an argument is: the number before the colon of its key. */
const KINDS: Readonly<Record<string, string>> = { '3': 'body', '4': 'query', '5': 'param', '6': 'headers' };

/** Every route of every controller of the application, new ones included, in a fixed order. A diff of it is a review of who may do what. */
export function routeInventory(app: INestApplication): RouteEntry[] {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [...module.controllers.values()]);
  const classes = new Set(
    controllers.map(({ metatype }) => metatype).filter((metatype): metatype is Type => typeof metatype === 'function'),
  );
  const entries = [...classes].flatMap((controller) => routesOf(app, controller));
  return entries.sort((a, b) => `${a.path} ${a.method}`.localeCompare(`${b.path} ${b.method}`, 'en'));
}

/** The inventory as lines, for a snapshot that reads like a table. */
export const inventoryLines = (entries: readonly RouteEntry[]): string[] =>
  entries.map(({ method, path, handler, access, idempotent, unchecked }) =>
    [`${method} ${path}`, handler, access, idempotent ? 'idempotent' : '', unchecked.length > 0 ? `UNCHECKED ${unchecked.join(', ')}` : '']
      .filter((part) => part !== '')
      .join(' | '),
  );

function routesOf(app: INestApplication, controller: Type): RouteEntry[] {
  const prototype = controller.prototype as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as unknown;
    if (typeof handler !== 'function' || !Reflect.hasMetadata(METHOD_METADATA, handler)) return [];
    const access = app
      .get(Reflector)
      .get<RouteAccess | { who: 'run'; requirement: RunRequirement } | undefined>(AccessDeclaration, handler as () => void);
    const paths = [controller, handler].map((target) => [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat());
    return paths[0]!.flatMap((outer) =>
      paths[1]!.map((inner) => ({
        method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? '?',
        path: fullPath(
          app,
          [outer, inner]
            .flatMap((part) => part.split('/'))
            .filter(Boolean)
            .join('/'),
        ),
        handler: `${controller.name}.${name}`,
        access: access ? wordsOf(access) : 'UNDECLARED',
        guards: ((Reflect.getMetadata(GUARDS_METADATA, handler) ?? []) as Type[]).map(({ name: guard }) => guard),
        idempotent: Reflect.getMetadata(IdempotentRoute.KEY, handler) === true,
        unchecked: uncheckedArguments(controller, name, access && 'row' in access ? access : undefined),
      })),
    );
  });
}

function wordsOf(access: RouteAccess | { who: 'run'; requirement: RunRequirement }): string {
  if (access.who === 'run') return access.requirement.capability === null ? 'run' : `run with ${access.requirement.capability}`;
  return 'row' in access ? `${access.who} of ${access.row.kind} :${access.row.param}` : access.who;
}

function fullPath(app: INestApplication, path: string): string {
  const config = app.get(ApplicationConfig);
  const isAtRoot = (config.getGlobalPrefixOptions().exclude ?? []).some(
    (route) => route.pathRegex.test(`/${path}`) || route.pathRegex.test(path),
  );
  return isAtRoot ? `/${path}` : `/${config.getGlobalPrefix()}/${path}`;
}

function uncheckedArguments(controller: Type, name: string, access: RouteAccess | undefined): string[] {
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, name) ?? []) as unknown[];
  const declared = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<string, RouteArgument>;
  const inOrder = Object.entries(declared).sort(([, a], [, b]) => a.index - b.index);
  return inOrder.flatMap(([key, { index, data, pipes }]) => {
    const kind = KINDS[key.split(':')[0]!];
    const isResolvedByGuard = kind === 'param' && access !== undefined && 'row' in access && access.row.param === data;
    if (kind === undefined || pipes.length > 0 || isResolvedByGuard || hasRules(types[index])) return [];
    return [data === undefined ? kind : `${kind} ${data}`];
  });
}

function hasRules(type: unknown): boolean {
  if (typeof type !== 'function' || type === Object || type === String) return false;
  return getMetadataStorage().getTargetValidationMetadatas(type, '', false, false).length > 0;
}
