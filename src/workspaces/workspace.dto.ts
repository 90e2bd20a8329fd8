import { ROLES } from '../access/domain/route-access.js';
import type { Role } from '../access/domain/route-access.js';
import { Name } from '../platform/http/bounded-text.decorator.js';
import { Flag, OneOf, Optional, Shaped, Text, Whole } from '../platform/http/fields.decorator.js';

export const RESUME_MODES = ['ask', 'auto'] as const;
export const WAIT_MODES = ['off', 'on'] as const;

export class CreateWorkspaceBody {
  @Name({ max: 200 }) name!: string;
  /** Stands before the numbers of its tasks; without it, made from the name. */
  @Optional() @Shaped(/^[A-Z][A-Z0-9]{0,9}$/, 'a capital letter and up to nine more capitals or digits') task_prefix?: string;
}

export class ChangeSettingsBody {
  /** Failures in a row after which an agent is paused, unless it has a threshold of its own. */
  @Optional() @Whole({ min: 1, max: 100 }) agent_failure_threshold?: number;
  @Optional() @Flag() require_approval_for_new_agents?: boolean;
  /** `ask`: a person resumes interrupted runs. `auto`: once, by themselves, where the session can be loaded. */
  @Optional() @OneOf(RESUME_MODES) resume_interrupted?: (typeof RESUME_MODES)[number];
  /** `on`: agents wait for the reset of a provider's quota. */
  @Optional() @OneOf(WAIT_MODES) wait_for_reset?: (typeof WAIT_MODES)[number];
}

export class PutMemberBody {
  @OneOf(ROLES) role!: Role;
}

export class PutSecretBody {
  /** Kept sealed and never shown again. */
  @Text({ max: 32_768 }) value!: string;
}
