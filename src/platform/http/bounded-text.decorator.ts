import { applyDecorators } from '@nestjs/common';
import { ValidateBy } from 'class-validator';
import { Text } from './fields.decorator.js';

/** A string of `min` (0) to `maxBytes` bytes of UTF-8, for texts that are long enough for bytes to matter. */
export const LongText = ({ min = 0, maxBytes }: { min?: number; maxBytes: number }): PropertyDecorator =>
  applyDecorators(
    Text({ min, max: maxBytes }),
    ValidateBy({
      name: 'longText',
      validator: {
        validate: (value) => typeof value !== 'string' || Buffer.byteLength(value) <= maxBytes,
        defaultMessage: () => `must be at most ${maxBytes} bytes`,
      },
    }),
  );

/** What something is called: a `Text` that shows at least one visible character. */
export const Name = ({ max }: { max: number }): PropertyDecorator =>
  applyDecorators(
    Text({ max }),
    ValidateBy({
      name: 'name',
      validator: {
        validate: (value) => typeof value !== 'string' || value.trim() !== '',
        defaultMessage: () => 'must not be blank',
      },
    }),
  );
