import { OneOf, Optional } from '../platform/http/fields.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';

export const ITEM_STATES = ['open', 'resolved'] as const;

export class InboxQuery extends PageQuery {
  /** `open`: what needs somebody. `resolved`: what was dealt with, and by whom. */
  @Optional() @OneOf(ITEM_STATES) state: (typeof ITEM_STATES)[number] = 'open';
}
