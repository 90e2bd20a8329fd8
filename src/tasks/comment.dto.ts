import { LongText } from '../platform/http/bounded-text.decorator.js';
import { Flag, Optional } from '../platform/http/fields.decorator.js';

const BODY_BYTES = 64 * 1024;

export class AddCommentBody {
  /** `@handle` wakes that agent; in code it does not. */
  @LongText({ min: 1, maxBytes: BODY_BYTES }) body!: string;
  /** Stop what the assignee is doing on the task, so that it reads this next. */
  @Optional() @Flag() interrupt?: boolean;
}
