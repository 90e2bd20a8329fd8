import { Name } from '../platform/http/bounded-text.decorator.js';
import { Flag, Instant, Optional, SomeOf, Text } from '../platform/http/fields.decorator.js';
import { SCOPES } from './domain/route-access.js';
import type { Scope } from './domain/route-access.js';

export class CreateUserBody {
  @Name({ max: 200 }) name!: string;
  /** May make users, tokens and workspaces, and see and drain hosts. */
  @Optional() @Flag() is_instance_admin: boolean = false;
}

export class CreateTokenBody {
  /** What the token is for; shown wherever it is. */
  @Text({ max: 200 }) label!: string;
  /** `admin` implies `write` implies `read`. */
  @SomeOf(SCOPES, { min: 1, max: 3 }) scopes!: Scope[];
  /** Not valid from then on; without it, until it is deleted. */
  @Optional() @Instant() expires_at?: string;
}
