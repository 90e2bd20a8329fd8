import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { isUuid } from './uuid.js';
import { isPlainObject, isStorable, strangeKey } from './json-values.js';

/**
 * The house's vocabulary for what comes in. Each says the check, its complaint and its place in the OpenAPI document, so
 * that a DTO class is its own specification. Nothing is converted: a number in a body is a JSON number.
 */
interface Rule {
  readonly name: string;
  readonly problem: string;
  readonly holds: (value: unknown) => boolean;
  readonly schema: ApiPropertyOptions;
}

const Field = ({ name, problem, holds, schema }: Rule): PropertyDecorator =>
  applyDecorators(ValidateBy({ name, validator: { validate: holds, defaultMessage: () => problem } }), ApiProperty(schema));

/** Length in characters as PostgreSQL counts them; only walks the text when UTF-16 units leave it open. */
function lengthWithin(text: string, min: number, max: number): boolean {
  if (text.length < min || text.length > 2 * max) return false;
  if (text.length <= max && text.length >= 2 * min) return true;
  let characters = 0;
  for (const _ of text) characters++;
  return characters >= min && characters <= max;
}

/** A string as given, of `min` (1) to `max` characters. U+0000 and lone surrogates are refused: no column could return them. */
export const Text = ({ min = 1, max }: { min?: number; max: number }): PropertyDecorator =>
  Field({
    name: 'text',
    problem: `must be a string of ${min} to ${max} characters without U+0000 or lone surrogates`,
    holds: (value) => typeof value === 'string' && lengthWithin(value, min, max) && isStorable(value),
    schema: { type: 'string', minLength: min, maxLength: max },
  });

/** A string of a shape; `what` finishes the sentence "must be ...". */
export const Shaped = (shape: RegExp, what: string): PropertyDecorator =>
  Field({
    name: 'shaped',
    problem: `must be ${what}`,
    holds: (value) => typeof value === 'string' && shape.test(value),
    schema: { type: 'string', pattern: shape.source },
  });

export const Uuid = (): PropertyDecorator =>
  Field({ name: 'uuid', problem: 'must be a UUID', holds: isUuid, schema: { type: 'string', format: 'uuid' } });

export const Whole = ({ min, max }: { min: number; max: number }): PropertyDecorator =>
  Field({
    name: 'whole',
    problem: `must be a whole number from ${min} to ${max}`,
    holds: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    schema: { type: 'integer', minimum: min, maximum: max },
  });

export const Flag = (): PropertyDecorator =>
  Field({ name: 'flag', problem: 'must be true or false', holds: (value) => typeof value === 'boolean', schema: { type: 'boolean' } });

export const OneOf = (list: readonly string[]): PropertyDecorator =>
  Field({
    name: 'oneOf',
    problem: `must be one of ${list.join(', ')}`,
    holds: (value) => typeof value === 'string' && list.includes(value),
    schema: { type: 'string', enum: [...list] },
  });

/** An instant as RFC 3339 says it, with seconds and an offset. */
export const Instant = (): PropertyDecorator =>
  Field({
    name: 'instant',
    problem: 'must be an RFC 3339 time such as 2030-01-31T12:00:00Z',
    holds: isInstant,
    schema: { type: 'string', format: 'date-time' },
  });

const RFC3339 = /^((?!0000)\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-](0\d|1[0-4]):[0-5]\d)$/;

/** The day is looked up, because Date takes a 30th of February for a day in March. */
function isInstant(value: unknown): boolean {
  const day = typeof value === 'string' ? RFC3339.exec(value)?.[1] : undefined;
  const midnight = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(`${day}T`);
}

/** The transformer's copy lacks keys that objects have by birth; this gives back what was sent. */
const AsSent = (when: (sent: unknown) => boolean): PropertyDecorator =>
  Transform(({ value, obj, key }: { value: unknown; obj: Record<string, unknown>; key: string }) => (when(obj[key]) ? obj[key] : value));

/** Any JSON object, kept as it is, of at most `maxBytes` bytes of UTF-8. */
export const JsonObject = ({ maxBytes }: { maxBytes: number }): PropertyDecorator =>
  applyDecorators(
    AsSent(() => true),
    Field({
      name: 'jsonObject',
      problem: `must be a JSON object of at most ${maxBytes} bytes without U+0000 or lone surrogates`,
      holds: (value) => isPlainObject(value) && isStorable(value) && Buffer.byteLength(JSON.stringify(value)) <= maxBytes,
      schema: { type: 'object', additionalProperties: true },
    }),
  );

interface Size {
  readonly min?: number;
  readonly max: number;
}

const ListOf = ({ name, problem, holds, schema }: Rule, { min = 0, max }: Size): PropertyDecorator =>
  applyDecorators(
    IsArray({ message: 'must be a list' }),
    ArrayMinSize(min, { message: `must have at least ${min} entries` }),
    ArrayMaxSize(max, { message: `must have at most ${max} entries` }),
    ArrayUnique({ message: 'must not repeat an entry' }),
    ValidateBy({ name, validator: { validate: holds, defaultMessage: () => problem } }, { each: true }),
    ApiProperty({ type: 'array', items: schema as object, minItems: min, maxItems: max, uniqueItems: true }),
  );

/** Ids, each once. */
export const Uuids = (size: Size): PropertyDecorator =>
  ListOf({ name: 'uuids', problem: 'must hold UUIDs only', holds: isUuid, schema: { type: 'string', format: 'uuid' } }, size);

/** Words of a closed list, each once. */
export const SomeOf = (list: readonly string[], size: Size = { min: 0, max: list.length }): PropertyDecorator =>
  ListOf(
    {
      name: 'someOf',
      problem: `must hold only ${list.join(', ')}`,
      holds: (value) => typeof value === 'string' && list.includes(value),
      schema: { type: 'string', enum: [...list] },
    },
    size,
  );

const hasStrangeKey = (value: unknown): boolean => isPlainObject(value) && strangeKey(value) !== undefined;

/** Another input class inside this one. */
export const Part = (part: () => new () => object): PropertyDecorator =>
  applyDecorators(
    Type(part),
    AsSent(hasStrangeKey),
    IsPart(false),
    ValidateNested({ message: 'must be an object' }),
    ApiProperty({ type: () => part() }),
  );

/** A list of another input class. */
export const Parts = (part: () => new () => object, { min = 0, max }: Size): PropertyDecorator =>
  applyDecorators(
    Type(part),
    AsSent((sent) => Array.isArray(sent) && sent.some(hasStrangeKey)),
    IsArray({ message: 'must be a list' }),
    ArrayMinSize(min, { message: `must have at least ${min} entries` }),
    ArrayMaxSize(max, { message: `must have at most ${max} entries` }),
    IsPart(true),
    ValidateNested({ each: true, message: 'must hold objects only' }),
    ApiProperty({ type: () => part(), isArray: true, minItems: min, maxItems: max }),
  );

const IsPart = (each: boolean): PropertyDecorator =>
  ValidateBy(
    {
      name: 'isPart',
      validator: {
        validate: (value) => isPlainObject(value) && !hasStrangeKey(value),
        defaultMessage: () => (each ? 'must hold objects of known fields only' : 'must be an object of known fields'),
      },
    },
    { each },
  );

/** May be left out, which in a PATCH means "as it is". `null` is still refused. */
export const Optional = (): PropertyDecorator =>
  applyDecorators(
    ValidateIf((_, value) => value !== undefined),
    ApiProperty({ required: false }),
  );

/** May be `null`, which says "none". */
export const OrNull = (): PropertyDecorator =>
  applyDecorators(
    ValidateIf((_, value) => value !== null),
    ApiProperty({ nullable: true }),
  );

/** For a query string: digits become a number, true and false a flag; anything else is left for the check to refuse. */
export const FromQuery = (): PropertyDecorator => Transform(({ value }: { value: unknown }) => readQuery(value));

function readQuery(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (/^-?\d{1,15}$/.test(value)) return Number(value);
  return value === 'true' ? true : value === 'false' ? false : value;
}
