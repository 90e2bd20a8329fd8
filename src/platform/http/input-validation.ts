import { ValidationPipe } from '@nestjs/common';
import type { ArgumentMetadata } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { OfficeError } from '../errors/office-error.js';
import { isPlainObject, strangeKey } from './json-values.js';

/** One complaint about one field, as the wire has it. */
export interface FieldProblem {
  readonly path: string;
  readonly problem: string;
}

const MAX_PROBLEMS = 50;

export const invalid = (fields: readonly FieldProblem[]): OfficeError =>
  new OfficeError('validation_failed', { fields: fields.slice(0, MAX_PROBLEMS) });

/** What a DTO class does not know is refused, so that nobody believes to have been obeyed; nothing is converted on the way. */
export class InputValidation extends ValidationPipe {
  constructor() {
    super({
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
      transform: true,
      transformOptions: { enableImplicitConversion: false },
      validationError: { target: false, value: false },
      exceptionFactory: (errors) => invalid(problemsOf(errors, '')),
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (this.toValidate(metadata)) {
      if (value !== undefined && value !== null && !isPlainObject(value)) throw invalid([{ path: '', problem: 'must be a JSON object' }]);
      const strange = value ? strangeKey(value) : undefined;
      if (strange !== undefined) throw invalid([{ path: strange, problem: 'is not a known field' }]);
    }
    return (await super.transform(value, metadata)) as unknown;
  }
}

function problemsOf(errors: readonly ValidationError[], parent: string): FieldProblem[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => {
    const path = parent === '' ? (property ?? '') : `${parent}.${property}`;
    const own = Object.entries(constraints).map(([rule, said]) => ({
      path,
      problem: rule === 'whitelistValidation' ? 'is not a known field' : said,
    }));
    return [...own, ...problemsOf(children, path)];
  });
}
