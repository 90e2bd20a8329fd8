import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { invalid } from '../platform/http/input-validation.js';

/** `@Param('seq', SeqInPath)`: the place of an entry. */
@Injectable()
export class SeqInPath implements PipeTransform<string, number> {
  transform(seq: string): number {
    if (!/^[1-9]\d{0,8}$/.test(seq)) throw invalid([{ path: 'seq', problem: 'must be a whole number from 1 to 999999999' }]);
    return Number(seq);
  }
}
