import { FromQuery, Optional, Whole } from '../platform/http/fields.decorator.js';

/** Which part of a transcript: the newest entries, those before one, or what has changed since a revision. */
export class EntriesQuery {
  /** The `last_rev` of the answer before: every entry changed since, in its present form, by revision. */
  @Optional() @FromQuery() @Whole({ min: 0, max: 999_999_999_999_999 }) after_rev?: number;
  /** Entries before this one; with it or without either, the newest of them, oldest first. */
  @Optional() @FromQuery() @Whole({ min: 1, max: 2_147_483_647 }) before_seq?: number;
  /** How many at most. */
  @Optional() @FromQuery() @Whole({ min: 1, max: 200 }) limit: number = 50;
}
