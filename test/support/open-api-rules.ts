import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Readonly<Record<string, unknown>>;
const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** What keeps a client from being generated from the document, one line per fault; none is none. */
export function openApiFaults(document: OpenAPIObject): string[] {
  const faults = [...danglingReferences(document), ...emptySchemas(document)];
  const ids = new Map<string, string>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item as Json)) {
      if (!METHODS.includes(method) || !isObject(operation)) continue;
      const name = `${method.toUpperCase()} ${path}`;
      faults.push(...operationFaults(path, operation).map((fault) => `${name}: ${fault}`));
      const id = String(operation.operationId);
      if (ids.has(id)) faults.push(`${name}: has the operationId ${id} of ${ids.get(id)}`);
      ids.set(id, name);
    }
  }
  return faults;
}

function operationFaults(path: string, operation: Json): string[] {
  const faults: string[] = [];
  const access = operation['x-access'];
  if (!operation.operationId) faults.push('no operationId');
  if (!operation.summary) faults.push('no summary');
  if (!isObject(access)) faults.push('no x-access');
  const isPublic = isObject(access) && access.who === 'public';
  if (!isPublic && !(operation.security as unknown[] | undefined)?.length) faults.push('no security');
  const responses = (operation.responses ?? {}) as Json;
  const good = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  if (good.length === 0) faults.push('no good answer');
  for (const [status, response] of good)
    if (status !== '204' && !isObject((response as Json).content)) faults.push(`the answer ${status} has no content`);
  for (const status of isPublic ? ['500'] : ['401', '403', '500']) if (!responses[status]) faults.push(`no answer ${status}`);
  const declared = ((operation.parameters ?? []) as Json[])
    .filter((parameter) => parameter.in === 'path')
    .map((parameter) => parameter.name);
  for (const [, parameter] of path.matchAll(/\{(\w+)\}/g))
    if (!declared.includes(parameter)) faults.push(`the parameter ${parameter} is not declared`);
  return faults;
}

function danglingReferences(document: OpenAPIObject): string[] {
  const schemas = Object.keys(document.components?.schemas ?? {});
  const references = new Set([...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/g)].map(([, name]) => name!));
  return [...references].filter((name) => !schemas.includes(name)).map((name) => `the schema ${name} is referred to and not there`);
}

function emptySchemas(document: OpenAPIObject): string[] {
  const schemas = Object.entries((document.components?.schemas ?? {}) as Record<string, Json>);
  return schemas
    .filter(
      ([, schema]) =>
        schema.type === 'object' &&
        Object.keys((schema.properties ?? {}) as Json).length === 0 &&
        schema.additionalProperties === undefined,
    )
    .map(([name]) => `the schema ${name} has no properties`);
}
