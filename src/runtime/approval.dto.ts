import { LongText } from '../platform/http/bounded-text.decorator.js';
import { OneOf, Optional } from '../platform/http/fields.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { APPROVAL_STATUSES } from './approval.view.js';

export class DecideApprovalBody {
  /** Told to whoever asked. */
  @Optional() @LongText({ min: 1, maxBytes: 16 * 1024 }) note?: string;
}

export class ApprovalQuery extends PageQuery {
  @Optional() @OneOf(APPROVAL_STATUSES) status?: (typeof APPROVAL_STATUSES)[number];
}
