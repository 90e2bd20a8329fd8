import fc from 'fast-check';
import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Json[];
  readonly body: Json | null;
  readonly responses: Json;
}

export interface FuzzRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const schemasOf = ({ components }: OpenAPIObject): Readonly<Record<string, unknown>> => components?.schemas ?? {};

export function operationsOf(document: OpenAPIObject): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as Json).flatMap(([method, operation]) => {
      if (!isJson(operation)) return [];
      const content = (operation['requestBody'] as { content?: Record<string, { schema?: Json }> } | undefined)?.content;
      return [
        {
          method: method.toUpperCase(),
          path,
          parameters: (operation['parameters'] ?? []) as Json[],
          body: content?.['application/json']?.schema ?? null,
          responses: operation['responses'] as Json,
        },
      ];
    }),
  );
}

/** Anything JSON, small; what a confused program might send. */
const anything = fc.jsonValue({ maxDepth: 2 });

/** Requests of one operation: mostly as the document has them, with ids that are there where it asks for ids, and a part of them wrong. */
export function requestsOf(document: OpenAPIObject, operation: Operation, ids: readonly string[]): fc.Arbitrary<FuzzRequest> {
  const valueOf = (schema: unknown, depth = 0): fc.Arbitrary<unknown> => {
    if (!isJson(schema) || depth > 6) return anything;
    if (typeof schema['$ref'] === 'string') {
      return valueOf(schemasOf(document)[schema['$ref'].split('/').at(-1)!], depth + 1);
    }
    if (Array.isArray(schema['allOf'])) return valueOf(schema['allOf'][0], depth + 1);
    const right = rightValue(schema, depth);
    return schema['nullable'] === true ? fc.option(right, { nil: null }) : right;
  };
  const rightValue = (schema: Json, depth: number): fc.Arbitrary<unknown> => {
    if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
    switch (schema['type']) {
      case 'string':
        if (schema['format'] === 'uuid')
          return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: fc.uuid() });
        if (schema['format'] === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
        // Patterns that look around are beyond the generator.
        if (typeof schema['pattern'] === 'string' && !schema['pattern'].includes('(?'))
          return fc.oneof(fc.stringMatching(new RegExp(schema['pattern'], 'u')), fc.string());
        return fc.string({
          unit: 'binary',
          minLength: Math.min(Number(schema['minLength'] ?? 0), 50),
          maxLength: Math.min(Number(schema['maxLength'] ?? 50), 50),
        });
      case 'integer':
        return fc.integer({ min: Number(schema['minimum'] ?? -9), max: Number(schema['maximum'] ?? 1_000) });
      case 'number':
        return fc.double();
      case 'boolean':
        return fc.boolean();
      case 'array':
        return fc.array(valueOf(schema['items'], depth + 1), { maxLength: 3 });
      case 'object': {
        const properties = Object.entries((schema['properties'] ?? {}) as Json);
        if (properties.length === 0) return fc.dictionary(fc.string(), anything, { maxKeys: 3 });
        const fields = Object.fromEntries(properties.map(([name, inner]) => [name, wrongSometimes(valueOf(inner, depth + 1))]));
        const required = ((schema['required'] ?? []) as string[]).filter((name) => name in fields);
        return fc.record(fields, { requiredKeys: required, noNullPrototype: true });
      }
      default:
        return anything;
    }
  };
  const wrongSometimes = (right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: anything });

  const inPath = operation.parameters
    .filter(({ in: place }) => place === 'path')
    .map(({ name, schema }) => [String(name), schema] as const);
  const inQuery = operation.parameters
    .filter(({ in: place }) => place === 'query')
    .map(({ name, schema }) => [String(name), schema] as const);
  const partOf = (schema: unknown): fc.Arbitrary<string> =>
    fc.oneof({ weight: 8, arbitrary: valueOf(schema).map(String) }, { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) });
  const path = fc.record(Object.fromEntries(inPath.map(([name, schema]) => [name, partOf(schema)])), { noNullPrototype: true });
  const query = fc.record(Object.fromEntries(inQuery.map(([name, schema]) => [name, partOf(schema)])), {
    requiredKeys: [],
    noNullPrototype: true,
  });
  const body =
    operation.body === null
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 8, arbitrary: valueOf(operation.body).map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: anything.map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: fc.string() },
        );
  return fc.tuple(path, query, body).map(([parts, asked, sent]) => ({
    method: operation.method,
    url: urlOf(operation.path, parts, asked as Record<string, string>),
    body: sent,
  }));
}

function urlOf(path: string, parts: Readonly<Record<string, string>>, query: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent((parts[name] ?? '').toWellFormed()) || '%20');
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, value.toWellFormed()]),
  ).toString();
  return search === '' ? filled : `${filled}?${search}`;
}

/** What is wrong with an answer by the document: a status it does not know, or a body that is none of that status. Null: nothing. */
export function answerFault(document: OpenAPIObject, operation: Operation, status: number, body: unknown): string | null {
  if (status >= 500) return `answered ${status}: ${JSON.stringify(body)}`;
  const response = operation.responses[String(status)];
  if (!isJson(response)) return `answered ${status}, which is not in the document: ${JSON.stringify(body)?.slice(0, 300)}`;
  const schema = (response['content'] as Record<string, { schema?: unknown }> | undefined)?.['application/json']?.schema;
  return schema === undefined ? null : mismatch(document, schema, body, `${status}`);
}

function mismatch(document: OpenAPIObject, schema: unknown, value: unknown, at: string): string | null {
  if (!isJson(schema)) return null;
  if (typeof schema['$ref'] === 'string') {
    return mismatch(document, schemasOf(document)[schema['$ref'].split('/').at(-1)!], value, at);
  }
  if (value === null && schema['nullable'] === true) return null;
  for (const part of (schema['allOf'] ?? []) as unknown[]) {
    const fault = mismatch(document, part, value, at);
    if (fault !== null) return fault;
  }
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value)) return `${at} is ${JSON.stringify(value)}, none of its words`;
  const wrong = (what: string): string => `${at} is no ${what}: ${JSON.stringify(value)?.slice(0, 200)}`;
  switch (schema['type']) {
    case 'string':
      return typeof value === 'string' ? null : wrong('string');
    case 'integer':
    case 'number':
      return typeof value === 'number' ? null : wrong('number');
    case 'boolean':
      return typeof value === 'boolean' ? null : wrong('boolean');
    case 'array':
      if (!Array.isArray(value)) return wrong('list');
      return (
        value.map((one: unknown, index) => mismatch(document, schema['items'], one, `${at}.${index}`)).find((fault) => fault !== null) ??
        null
      );
    case 'object': {
      if (!isJson(value)) return wrong('object');
      const missing = ((schema['required'] ?? []) as string[]).find((name) => !(name in value));
      if (missing !== undefined) return `${at} lacks ${missing}`;
      for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as Json)) {
        const fault = name in value ? mismatch(document, inner, value[name], `${at}.${name}`) : null;
        if (fault !== null) return fault;
      }
      return null;
    }
    default:
      return null;
  }
}
