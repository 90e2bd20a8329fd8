import { applyDecorators, Body, Controller, HttpCode, Inject, RequestMapping, RequestMethod, UseFilters } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import { CurrentRun } from '../access/current-call.decorator.js';
import { Idempotent } from '../access/idempotent.decorator.js';
import { Requires } from '../access/requires.decorator.js';
import type { RunAdmission } from '../access/run-admission.js';
import { RunRefusalFilter } from './run-refusal.filter.js';
import { handlerName, type ActionClass, type ActionDeclaration } from './runtime-action.js';
import { RuntimeActions } from './runtime-actions.service.js';

/** The counter where running agents ask for things: one route an action, made from its declaration, so that none can lack a guard. */
export function runtimeController(actions: readonly ActionClass[]): Type {
  @ApiTags('runtime')
  @UseFilters(RunRefusalFilter)
  @Controller('runtime')
  class RuntimeController {
    constructor(@Inject(RuntimeActions) readonly actions: RuntimeActions) {}
  }
  for (const action of actions) {
    const name = handlerName(action.declared);
    const handler = {
      [name](this: RuntimeController, admission: RunAdmission, body: object = {}): Promise<object> {
        return this.actions.perform(action, { ...admission, body });
      },
    }[name]!;
    addRoute(RuntimeController.prototype, name, handler, action.declared);
  }
  return RuntimeController;
}

function addRoute(controller: object, name: string, handler: object, declared: ActionDeclaration): void {
  const descriptor = { value: handler, writable: true, configurable: true, enumerable: false };
  Object.defineProperty(controller, name, descriptor);
  Reflect.defineMetadata('design:paramtypes', [Object, declared.body ?? Object], controller, name);
  CurrentRun()(controller, name, 0);
  if (declared.body !== null) Body()(controller, name, 1);
  routeOf(declared)(controller, name, descriptor);
}

function routeOf(declared: ActionDeclaration): MethodDecorator {
  const [method, path] = declared.route.split(' ') as [keyof typeof RequestMethod, string];
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, param]) => ApiParam({ name: param!, schema: { type: 'string', format: 'uuid' } }));
  const rest = path.endsWith('*') ? [ApiParam({ name: 'path', schema: { type: 'string' } })] : [];
  return applyDecorators(
    RequestMapping({ path, method: RequestMethod[method] }),
    HttpCode(declared.status),
    Requires(declared),
    ApiOperation({ summary: declared.summary }),
    ApiResponse({ status: declared.status, type: declared.answer, description: '' }),
    ...ids,
    ...rest,
    ...(declared.idempotent === true ? [Idempotent()] : []),
  );
}
