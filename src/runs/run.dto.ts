import { Instant, OneOf, Optional, Text, Uuid } from '../platform/http/fields.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { RUN_STATUSES, type RunStatus } from './domain/run-status.js';

export class AgentRunsQuery extends PageQuery {
  @Optional() @OneOf(RUN_STATUSES) status?: RunStatus;
}

export class WorkspaceRunsQuery extends AgentRunsQuery {
  @Optional() @Uuid() agent_id?: string;
  @Optional() @Uuid() task_id?: string;
}

export class UsageQuery {
  /** RFC 3339; without it, of all that is kept. */
  @Optional() @Instant() since?: string;
}

/** Wake an agent by hand. */
export class ManualRunDto {
  @Optional() @Uuid() task_id?: string;
  /** What it is to know; told in the prompt. */
  @Optional() @Text({ max: 4_000 }) note?: string;
}
