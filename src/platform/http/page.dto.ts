import { FromQuery, Optional, Text, Whole } from './fields.decorator.js';

/** Which part of a list: `limit` rows after the place `cursor` names. Lists with filters extend it. */
export class PageQuery {
  /** How many rows at most. */
  @Optional() @FromQuery() @Whole({ min: 1, max: 200 }) limit: number = 50;
  /** The `next_cursor` of the page before. */
  @Optional() @Text({ max: 400 }) cursor?: string;
}
