import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiHeader } from '@nestjs/swagger';

export const IdempotentRoute = Reflector.createDecorator<true>();

/** A POST that creates or wakes: with an `Idempotency-Key`, repeating it answers the same and acts once (24 h). */
export const Idempotent = (): MethodDecorator =>
  applyDecorators(
    IdempotentRoute(true),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Repeat the request with the same key, within 24 hours, and it acts once and answers the same.',
      schema: { type: 'string', minLength: 1, maxLength: 200, pattern: '^[\\x20-\\x7e]+$' },
    }),
  );
