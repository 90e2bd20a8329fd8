import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { OFFICE_ERRORS } from '../errors/office-error.js';
import { ApiDocument } from './api-document.js';
import { ErrorView, TokenRefusalView } from './error.view.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** What `@Allow` left on an operation (access room); nothing here decides anything by it. */
interface DeclaredAccess {
  readonly who: string;
  readonly row?: { readonly kind: string; readonly param: string };
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;

const WHO: Readonly<Record<string, string>> = {
  public: 'Anyone.',
  loopback_or_instance_admin: 'Anyone on the server itself; from elsewhere an instance admin.',
  person: 'Any valid access token.',
  instance_admin: 'Instance admins.',
  member: 'Members of the workspace.',
  workspace_admin: 'Admins of the workspace.',
  run: 'Running agents, with the token of their run.',
};

/** The document a client can be generated from: every route with who may call it and how it refuses. */
export function officeDocument(app: NestFastifyApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Agent Office')
    .setDescription('Times are RFC 3339 in UTC, names snake_case, ids UUIDv7. Lists are pages; errors are a sentence, a code and facts.')
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An access token, as made by POST /users/{id}/tokens.' })
    .build();
  const document = SwaggerModule.createDocument(app, config, { extraModels: [ErrorView, TokenRefusalView], operationIdFactory });
  nameWildcards(document);
  for (const path of Object.values(document.paths)) {
    for (const method of METHODS) if (path[method]) complete(path[method], method);
  }
  return document;
}

/** A path that ends in `*` takes the rest of it as its parameter `path`. */
function nameWildcards(document: OpenAPIObject): void {
  for (const [path, item] of Object.entries(document.paths)) {
    if (!path.endsWith('/*')) continue;
    delete document.paths[path];
    document.paths[`${path.slice(0, -1)}{path}`] = item;
  }
}

/** `TaskController.create` is `task_create`: stable as long as nobody renames either. */
function operationIdFactory(controller: string, method: string): string {
  const room = controller.replace(/Controller$/, '');
  return `${room.charAt(0).toLowerCase()}${room.slice(1)}_${method}`;
}

function complete(operation: Operation, method: (typeof METHODS)[number]): void {
  const access = (operation as { 'x-access'?: DeclaredAccess })['x-access'];
  const who = access ? (WHO[access.who] ?? access.who) : 'Nobody.';
  operation.description = [operation.description, `Access: ${who}`].filter(Boolean).join('\n\n');
  const parameters = (operation.parameters ?? []) as { in?: string; name?: string }[];
  const statuses = new Set([500, 503]);
  if (access?.who !== 'public') statuses.add(401).add(403);
  if (access?.row || parameters.some((parameter) => parameter.in === 'path')) statuses.add(404);
  if (operation.requestBody) statuses.add(413).add(415);
  if (operation.requestBody || parameters.length > 0) statuses.add(400);
  // Whatever changes something may come too late, or be used up.
  if (method !== 'get' && access?.who !== 'public') statuses.add(409);
  for (const status of statuses) operation.responses[String(status)] ??= refusalOf(status);
  if (access?.who === 'run') operation.responses['401'] = refusalWith('TokenRefusalView', 'No runtime token, or none of a run that runs.');
}

function refusalOf(status: number): Operation['responses'][string] {
  const codes = Object.entries(OFFICE_ERRORS).filter(([, [of]]) => of === status);
  return refusalWith('ErrorView', codes.length <= 4 ? codes.map(([code]) => `\`${code}\``).join(', ') : 'Refused; the code says why.');
}

const refusalWith = (view: string, description: string): Operation['responses'][string] => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${view}` } } },
});

/** Serves the page at /api/docs and the JSON at /api/docs-json. Built when first asked for: most servers never are. */
export function serveOpenApi(app: NestFastifyApplication): void {
  const document = app.get(ApiDocument);
  document.describedBy(() => officeDocument(app));
  SwaggerModule.setup('api/docs', app, () => document.get(), { jsonDocumentUrl: 'api/docs-json', raw: ['json'] });
}
