import { LongText, Name } from '../platform/http/bounded-text.decorator.js';
import { Flag, FromQuery, OneOf, Optional, OrNull, Text, Uuid, Uuids, Whole } from '../platform/http/fields.decorator.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { TASK_STATE_SPELLINGS } from './domain/task-state.js';

const DESCRIPTION_BYTES = 256 * 1024;
const SPELLINGS = [...TASK_STATE_SPELLINGS.keys()];
const MAX_BLOCKERS = 100;

export class CreateTaskBody {
  @Name({ max: 500 }) title!: string;
  @Optional() @OrNull() @LongText({ maxBytes: DESCRIPTION_BYTES }) description?: string | null;
  /** Wakes that agent. */
  @Optional() @OrNull() @Uuid() assignee_agent_instance_id?: string | null;
  @Optional() @OrNull() @Uuid() parent_id?: string | null;
  /** Where its work is done; left out: in its project's repository, or in an empty folder. */
  @Optional() @OrNull() @Uuid() repository_id?: string | null;
  /** Higher is more urgent. */
  @Optional() @Whole({ min: 0, max: 4 }) priority?: number;
  @Optional() @OrNull() @Uuid() project_id?: string | null;
  /** The way it goes; left out: the Office workflow of the workspace. */
  @Optional() @OrNull() @Uuid() workflow_id?: string | null;
  /** The tasks it waits for. */
  @Optional() @Uuids({ max: MAX_BLOCKERS }) blocked_by?: string[];
}

/** What is left out stays as it is. */
export class ChangeTaskBody {
  @Optional() @Name({ max: 500 }) title?: string;
  @Optional() @OrNull() @LongText({ maxBytes: DESCRIPTION_BYTES }) description?: string | null;
  /**
   * Done, it goes to the last step of its workflow, if all have approved who have to; in review, to the next gate; at work
   * again, back to the work before it; opened again, to the first step.
   */
  @Optional() @OneOf(SPELLINGS) state?: string;
  @Optional() @Whole({ min: 0, max: 4 }) priority?: number;
  /** Another agent is woken and the former one let go; null: nobody's. */
  @Optional() @OrNull() @Uuid() assignee_agent_instance_id?: string | null;
  /** All it waits for from now on. */
  @Optional() @Uuids({ max: MAX_BLOCKERS }) blocked_by?: string[];
  @Optional() @Flag() archived?: boolean;
}

export class TaskQuery extends PageQuery {
  @Optional() @OneOf(SPELLINGS) state?: string;
  @Optional() @Uuid() assignee?: string;
  @Optional() @Uuid() step?: string;
  @Optional() @Uuid() project?: string;
  /** Part of the title or identifier. */
  @Optional() @Text({ max: 200 }) q?: string;
  /** True: only the archived ones. */
  @Optional() @FromQuery() @Flag() archived: boolean = false;
}
