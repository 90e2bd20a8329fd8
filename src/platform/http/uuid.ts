import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { OfficeError } from '../errors/office-error.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);

/**
 * `@Param('sid', UuidInPath)`: a path that names no possible id names nothing, so 404, never a complaint of the database.
 * Parameters the guard resolves need no pipe.
 */
@Injectable()
export class UuidInPath implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!isUuid(value)) throw new OfficeError('not_found');
    return value.toLowerCase();
  }
}
