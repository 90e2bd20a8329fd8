import { Optional, Whole } from '../platform/http/fields.decorator.js';

export class DrainBody {
  /** Seconds that turns under way may take to end by themselves; OFFICE_DRAIN_SEC without it. */
  @Optional() @Whole({ min: 0, max: 86_400 }) deadline_sec?: number;
}
