import { Name } from '../platform/http/bounded-text.decorator.js';
import { Flag, OneOf, Optional, OrNull, Part, Parts, Shaped, Uuid } from '../platform/http/fields.decorator.js';
import { STEP_KINDS, type StepKind } from './domain/office-workflow.js';
import { SEAT_ROLES, type SeatPlan, type SeatRole } from './domain/seat.js';
import { MOST_SEATS, MOST_STEPS } from './domain/workflow-plan.js';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
export const WORKFLOW_STYLES = ['office', 'kanban'] as const;

/** Held by an agent or by a person. */
export class SeatBody {
  @OneOf(SEAT_ROLES) role!: SeatRole;
  @Optional() @Uuid() agent_id?: string;
  @Optional() @Uuid() user_id?: string;
  /** Without the decision the task does not leave the step. Left out: yes, except of a watcher. */
  @Optional() @Flag() decision_required?: boolean;
}

export class AgentErrorTarget {
  @Shaped(new RegExp(`^(ceo|${UUID})$`), "'ceo' or the id of an agent") target!: string;
}

export class StepBody {
  @Name({ max: 100 }) name!: string;
  @OneOf(STEP_KINDS) kind!: StepKind;
  /** The step ends when its agent says so, not when a turn does. Left out: yes for work. */
  @Optional() @Flag() requires_signal?: boolean;
  /** Whom a failed run on this step is told to; null: nobody. */
  @Optional() @OrNull() @Part(() => AgentErrorTarget) on_agent_error?: AgentErrorTarget | null;
  @Optional() @Parts(() => SeatBody, { max: MOST_SEATS }) seats?: SeatBody[];
}

export class CreateWorkflowBody {
  @Name({ max: 200 }) name!: string;
  @OneOf(WORKFLOW_STYLES) style!: 'office' | 'kanban';
  @Parts(() => StepBody, { min: 1, max: MOST_STEPS }) steps!: StepBody[];
}

/** A step there is keeps its id, and what is left out of it; one without id is new. */
export class ChangeStepBody extends StepBody {
  @Optional() @Uuid() id?: string;
}

/** What is left out stays as it is. */
export class ChangeWorkflowBody {
  @Optional() @Name({ max: 200 }) name?: string;
  /** All of them, in order; those left out are removed. */
  @Optional() @Parts(() => ChangeStepBody, { min: 1, max: MOST_STEPS }) steps?: ChangeStepBody[];
}

export const seatPlan = ({ role, agent_id, user_id, decision_required }: SeatBody): SeatPlan => ({
  role,
  agentId: agent_id?.toLowerCase() ?? null,
  userId: user_id?.toLowerCase() ?? null,
  decisionRequired: decision_required ?? role !== 'watcher',
});
