import { AGENT_ROLES, CAPABILITIES } from '../access/domain/capabilities.js';
import type { AgentRole, Capability } from '../access/domain/capabilities.js';
import { LongText, Name } from '../platform/http/bounded-text.decorator.js';
import {
  Flag,
  FromQuery,
  JsonObject,
  OneOf,
  Optional,
  OrNull,
  Part,
  Shaped,
  SomeOf,
  Uuid,
  Whole,
} from '../platform/http/fields.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { ADAPTERS } from './domain/adapter-config.js';
import type { Adapter } from './domain/adapter-config.js';
import { HANDLE_SHAPE } from './domain/handle.js';

const CONFIG_BYTES = 768 * 1024;
const INSTRUCTIONS_BYTES = 64 * 1024;
const HANDLE_WORDS = 'a handle: 1 to 60 of a-z, 0-9, - and _, beginning with a letter or digit';

/** Changes to what the role allows; what stands in both lists is denied. */
export class PermissionsPart {
  @Optional() @SomeOf(CAPABILITIES) allow?: Capability[];
  @Optional() @SomeOf(CAPABILITIES) deny?: Capability[];
}

export class HireAgentBody {
  @Name({ max: 200 }) name!: string;
  /** Left out: made from the name, and unique. */
  @Optional() @Shaped(HANDLE_SHAPE, HANDLE_WORDS) handle?: string;
  @OneOf(AGENT_ROLES) role!: AgentRole;
  @OneOf(ADAPTERS) adapter!: Adapter;
  /** `command` and `home: "server"` are for instance admins. */
  @Optional() @JsonObject({ maxBytes: CONFIG_BYTES }) adapter_config?: Record<string, unknown>;
  @Optional() @Part(() => PermissionsPart) permissions?: PermissionsPart;
  /** Null: the threshold of the workspace. */
  @Optional() @OrNull() @Whole({ min: 1, max: 100 }) failure_threshold?: number | null;
  @Optional() @Whole({ min: 1, max: 100 }) max_concurrent_sessions?: number;
  /** Seconds between the end of a run and the next. */
  @Optional() @Whole({ min: 0, max: 86_400 }) cooldown_sec?: number;
  @Optional() @OrNull() @Uuid() reports_to?: string | null;
  @Optional() @OrNull() @LongText({ maxBytes: INSTRUCTIONS_BYTES }) instructions?: string | null;
}

/** What is left out stays as it is. */
export class ChangeAgentBody {
  @Optional() @Name({ max: 200 }) name?: string;
  @Optional() @Shaped(HANDLE_SHAPE, HANDLE_WORDS) handle?: string;
  @Optional() @OneOf(AGENT_ROLES) role?: AgentRole;
  /** The configuration has to suit it: give one with it where the present one does not. */
  @Optional() @OneOf(ADAPTERS) adapter?: Adapter;
  /** Replaces the whole of it. */
  @Optional() @JsonObject({ maxBytes: CONFIG_BYTES }) adapter_config?: Record<string, unknown>;
  @Optional() @Part(() => PermissionsPart) permissions?: PermissionsPart;
  @Optional() @OrNull() @Whole({ min: 1, max: 100 }) failure_threshold?: number | null;
  @Optional() @Whole({ min: 1, max: 100 }) max_concurrent_sessions?: number;
  @Optional() @Whole({ min: 0, max: 86_400 }) cooldown_sec?: number;
  @Optional() @OrNull() @Uuid() reports_to?: string | null;
  @Optional() @OrNull() @LongText({ maxBytes: INSTRUCTIONS_BYTES }) instructions?: string | null;
}

export class PauseAgentBody {
  /** Left out: `Paused by a person`, or the reason it is paused for already. */
  @Optional() @Name({ max: 500 }) reason?: string;
}

export class AgentQuery extends PageQuery {
  /** True: only the archived ones. */
  @Optional() @FromQuery() @Flag() archived: boolean = false;
}
