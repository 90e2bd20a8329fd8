import { AGENT_ROLES } from '../access/domain/capabilities.js';
import type { AgentRole } from '../access/domain/capabilities.js';
import { PermissionsPart } from '../agents/agent.dto.js';
import { ADAPTERS } from '../agents/domain/adapter-config.js';
import type { Adapter } from '../agents/domain/adapter-config.js';
import { HANDLE_SHAPE } from '../agents/domain/handle.js';
import { LongText, Name } from '../platform/http/bounded-text.decorator.js';
import { JsonObject, OneOf, Optional, OrNull, Part, Shaped, Uuid, Uuids } from '../platform/http/fields.decorator.js';
import { DECISIONS } from '../tasks/domain/gate.js';
import type { DecisionWord } from '../tasks/domain/gate.js';
import { TASK_STATE_SPELLINGS } from '../tasks/domain/task-state.js';

const COMMENT_BYTES = 64 * 1024;
const DESCRIPTION_BYTES = 256 * 1024;
const INSTRUCTIONS_BYTES = 64 * 1024;
const NOTE_BYTES = 16 * 1024;
const PAYLOAD_BYTES = 64 * 1024;
const HANDLE_WORDS = 'a handle: 1 to 60 of a-z, 0-9, - and _, beginning with a letter or digit';

export class PostCommentBody {
  /** Left out: your own task. */
  @Optional() @Uuid() task_id?: string;
  /** Markdown. `@handle` wakes that agent; in code it does not. */
  @LongText({ min: 1, maxBytes: COMMENT_BYTES }) body!: string;
}

export class UpdateTaskStatusBody {
  @OneOf([...TASK_STATE_SPELLINGS.keys()]) status!: string;
  @Optional() @LongText({ min: 1, maxBytes: COMMENT_BYTES }) comment?: string;
}

/** What the agent says of the step it ends. */
export class CompleteStepBody {
  @LongText({ min: 1, maxBytes: NOTE_BYTES }) summary!: string;
  /** For whoever goes on. */
  @Optional() @LongText({ min: 1, maxBytes: NOTE_BYTES }) handoff?: string;
  /** What still stands in the way. */
  @Optional() @LongText({ min: 1, maxBytes: NOTE_BYTES }) blockers?: string;
}

export class DecideOnTaskBody {
  @OneOf(DECISIONS) decision!: DecisionWord;
  @Optional() @LongText({ min: 1, maxBytes: NOTE_BYTES }) note?: string;
}

export class CreateSubtaskBody {
  @Name({ max: 500 }) title!: string;
  @Optional() @LongText({ maxBytes: DESCRIPTION_BYTES }) description?: string;
  /** Woken. Left out: nobody's. */
  @Optional() @Uuid() assignee_agent_id?: string;
  /** The tasks it waits for. */
  @Optional() @Uuids({ max: 100 }) blocked_by?: string[];
}

export class CreateAgentBody {
  @Name({ max: 200 }) name!: string;
  /** Left out: made from the name, and unique. */
  @Optional() @Shaped(HANDLE_SHAPE, HANDLE_WORDS) handle?: string;
  @OneOf(AGENT_ROLES) role!: AgentRole;
  /** Left out: your own. */
  @Optional() @OneOf(ADAPTERS) adapter?: Adapter;
  @Optional() @Part(() => PermissionsPart) permissions?: PermissionsPart;
  @Optional() @OrNull() @Uuid() reports_to?: string | null;
  @Optional() @OrNull() @LongText({ maxBytes: INSTRUCTIONS_BYTES }) instructions?: string | null;
  /** What for: shown to whoever approves. */
  @Optional() @LongText({ min: 1, maxBytes: NOTE_BYTES }) reason?: string;
}

/** What is left out stays as it is. */
export class ModifyAgentBody {
  @Optional() @Name({ max: 200 }) name?: string;
  @Optional() @Shaped(HANDLE_SHAPE, HANDLE_WORDS) handle?: string;
  @Optional() @OneOf(AGENT_ROLES) role?: AgentRole;
  @Optional() @OneOf(ADAPTERS) adapter?: Adapter;
  @Optional() @Part(() => PermissionsPart) permissions?: PermissionsPart;
  @Optional() @OrNull() @Uuid() reports_to?: string | null;
  @Optional() @OrNull() @LongText({ maxBytes: INSTRUCTIONS_BYTES }) instructions?: string | null;
}

export class SpawnRunBody {
  /** The work is on this task; left out, on none. */
  @Optional() @Uuid() task_id?: string;
  /** What the agent is to know. */
  @Optional() @LongText({ min: 1, maxBytes: NOTE_BYTES }) note?: string;
  /** The same for programs; put below the note. */
  @Optional() @JsonObject({ maxBytes: NOTE_BYTES }) payload?: Record<string, unknown>;
}

export const APPROVAL_TARGETS = ['agent', 'task', 'skill', 'project'] as const;
export const APPROVAL_TYPES = ['hire_agent', 'generic'] as const;

export class RequestApprovalBody {
  /** `hire_agent`: `payload` is what POST /runtime/agents takes. */
  @OneOf(APPROVAL_TYPES) type!: (typeof APPROVAL_TYPES)[number];
  @Optional() @OneOf(APPROVAL_TARGETS) target_type?: (typeof APPROVAL_TARGETS)[number];
  @Optional() @Uuid() target_id?: string;
  @LongText({ min: 1, maxBytes: NOTE_BYTES }) reason!: string;
  @Optional() @JsonObject({ maxBytes: PAYLOAD_BYTES }) payload?: Record<string, unknown>;
}

export class WriteMemoryBody {
  @LongText({ maxBytes: 256 * 1024 }) content!: string;
  /** Write only if this is still when it was last written; null: only if nothing is there yet. */
  @Optional() @OrNull() @IfUpdatedAt() if_updated_at?: string | null;
}

function IfUpdatedAt(): PropertyDecorator {
  return Shaped(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, 'an updated_at as it was answered');
}
