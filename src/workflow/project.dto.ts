import { LongText, Name } from '../platform/http/bounded-text.decorator.js';
import { Optional, OrNull } from '../platform/http/fields.decorator.js';

const DESCRIPTION_BYTES = 64 * 1024;

export class CreateProjectBody {
  @Name({ max: 200 }) name!: string;
  @Optional() @OrNull() @LongText({ maxBytes: DESCRIPTION_BYTES }) description?: string | null;
}

/** What is left out stays as it is. */
export class ChangeProjectBody {
  @Optional() @Name({ max: 200 }) name?: string;
  @Optional() @OrNull() @LongText({ maxBytes: DESCRIPTION_BYTES }) description?: string | null;
}
