import { FromQuery, Optional, Whole } from '../platform/http/fields.decorator.js';

/** Which part of the events: `limit` of them after `after`. */
export class EventsQuery {
  /** The `seq` of the last event one has; without it, from the oldest that is kept. */
  @Optional() @FromQuery() @Whole({ min: 0, max: 999_999_999_999_999 }) after?: number;
  /** How many at most. */
  @Optional() @FromQuery() @Whole({ min: 1, max: 200 }) limit: number = 50;
}
