import { PERMISSION_DECISIONS, type PermissionDecision } from '../inbox/domain/permission-decision.js';
import { OneOf } from '../platform/http/fields.decorator.js';

export class PermissionAnswerBody {
  /**
   * `allow_always` is for workspace admins; it is remembered for this agent, and for exactly what it asks for here. Of a missing
   * capability nothing else: it is granted for good, or left so with Mark fixed.
   */
  @OneOf(PERMISSION_DECISIONS) decision!: PermissionDecision;
}
