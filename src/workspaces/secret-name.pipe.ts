import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { invalid } from '../platform/http/input-validation.js';
import { isSecretName } from './domain/secret-name.js';

/** `@Param('name', SecretNameInPath)`. */
@Injectable()
export class SecretNameInPath implements PipeTransform<string, string> {
  transform(name: string): string {
    if (!isSecretName(name)) throw invalid([{ path: 'name', problem: 'must be a letter or _ and up to 99 more letters, digits or _' }]);
    return name;
  }
}
