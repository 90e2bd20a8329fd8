import { Name } from '../platform/http/bounded-text.decorator.js';
import { Shaped } from '../platform/http/fields.decorator.js';

export class RegisterRepositoryBody {
  @Name({ max: 200 }) name!: string;
  /** On the host that answers. Symbolic links in it are followed once, now. */
  @Shaped(/^\/[^\0\n]{0,4095}$/, 'an absolute path') path!: string;
}
