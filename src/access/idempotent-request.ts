import { createHash } from 'node:crypto';
import { OfficeError } from '../platform/errors/office-error.js';
import { isUuid } from '../platform/http/uuid.js';
import type { IdempotentRequest } from './call.js';

const KEY = /^[\x20-\x7e]{1,200}$/;

/** The parts of an HTTP request that say whether it is the same one again. */
export interface RepeatableRequest {
  readonly method: string;
  /** The route's pattern, `/api/v1/tasks/:id/comments`. */
  readonly pattern: string;
  readonly params: Readonly<Record<string, string>>;
  readonly header: string | readonly string[] | undefined;
  readonly body: unknown;
}

/** Null when no key came. A key that is not 1 to 200 printable ASCII characters is refused, never ignored. */
export function idempotentRequest(principal: string, request: RepeatableRequest): IdempotentRequest | null {
  const { method, pattern, params, header, body } = request;
  if (header === undefined) return null;
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new OfficeError('validation_failed', { fields: [{ path: 'Idempotency-Key', problem: 'must be 1 to 200 printable characters' }] });
  }
  const hash = createHash('sha256')
    .update(canonical(body ?? null))
    .digest();
  return { principal, method, route: pattern.replaceAll(/:(\w+)/g, (_, name: string) => inPath(params[name] ?? '')), key: header, hash };
}

const inPath = (value: string): string => encodeURIComponent(isUuid(value) ? value.toLowerCase() : value);

/** The same JSON whatever the order of its keys. The body parser has bounded its depth. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    part === null || typeof part !== 'object' || Array.isArray(part)
      ? part
      : Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))),
  );
