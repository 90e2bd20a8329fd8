type Json = Readonly<Record<string, unknown>>;

/** As much of an OpenAPI document as a tool is made of. */
export interface Described {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

export interface ToolSchema {
  readonly type: 'object';
  readonly properties: Record<string, object>;
  readonly required: string[];
  readonly additionalProperties: false;
  readonly [key: string]: unknown;
}

/**
 * The input of a tool, as JSON Schema: parts of the path and fields of the body side by side. `optional` names those that may
 * be left out although the route needs them.
 */
export function toolSchema(document: Described, operationId: string, optional: readonly string[]): ToolSchema {
  const operation = operationOf(document, operationId);
  const properties: Record<string, object> = {};
  const required: string[] = [];
  for (const parameter of listOf(operation['parameters'])) {
    if (parameter['in'] !== 'path') continue;
    const name = String(parameter['name']);
    properties[name] = plain(document, parameter['schema']);
    if (!optional.includes(name)) required.push(name);
  }
  const content = member(member(operation['requestBody'], 'content'), 'application/json');
  const body = isJson(content) ? plain(document, content['schema']) : {};
  Object.assign(properties, body['properties']);
  required.push(...(Array.isArray(body['required']) ? (body['required'] as string[]) : []));
  return { type: 'object', properties, required, additionalProperties: false };
}

function operationOf(document: Described, operationId: string): Json {
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path as Json)) {
      if (isJson(operation) && operation['operationId'] === operationId) return operation;
    }
  }
  throw new Error(`the document has no operation ${operationId}`);
}

/** OpenAPI 3.0 to JSON Schema: references are written out, `nullable` is a type, examples go. */
function plain(document: Described, schema: unknown): Record<string, unknown> {
  if (!isJson(schema)) return {};
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1)!;
    return plain(document, document.components?.schemas?.[name]);
  }
  const { nullable, example: _example, allOf, ...rest } = schema;
  const merged: Json = Object.assign({}, ...listOf(allOf).map((part) => plain(document, part)), rest) as Json;
  const result = Object.fromEntries(
    Object.entries(merged).map(([key, value]) => {
      if (key === 'properties' && isJson(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(document, inner)]))];
      }
      return [key, key === 'items' ? plain(document, value) : value];
    }),
  );
  if (nullable !== true) return result;
  return {
    ...result,
    ...(typeof result['type'] === 'string' && { type: [result['type'], 'null'] }),
    ...(Array.isArray(result['enum']) && { enum: [...(result['enum'] as unknown[]), null] }),
  };
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const member = (value: unknown, name: string): unknown => (isJson(value) ? value[name] : undefined);
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
