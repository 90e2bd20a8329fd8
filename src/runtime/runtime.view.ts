import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AGENT_ROLES, CAPABILITIES } from '../access/domain/capabilities.js';
import type { AgentRole, Capability } from '../access/domain/capabilities.js';
import { AgentView } from '../agents/agent.view.js';
import { SIGNAL_REFUSALS } from '../sessions/completion-signals.service.js';
import type { SignalRefusal } from '../sessions/completion-signals.service.js';
import { DECISIONS } from '../tasks/domain/gate.js';
import type { DecisionWord } from '../tasks/domain/gate.js';
import { TASK_STATES } from '../tasks/domain/task-state.js';
import type { TaskState } from '../tasks/domain/task-state.js';

export class OwnAgentView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty() handle!: string;
  @ApiProperty({ enum: AGENT_ROLES, description: 'The one this run works under.' }) role!: AgentRole;
}

export class OwnTaskView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() identifier!: string;
  @ApiProperty() title!: string;
  @ApiProperty({ enum: TASK_STATES }) state!: TaskState;
  @ApiProperty({ description: 'The name of the step it stands at.' }) step!: string;
}

export class OwnWakeView {
  @ApiProperty() reason!: string;
  @ApiProperty({ type: String, nullable: true }) note!: string | null;
}

export class RunSelfView {
  @ApiProperty({ format: 'uuid' }) run_id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty({ type: OwnAgentView }) agent!: OwnAgentView;
  @ApiProperty({ type: OwnTaskView, nullable: true }) task!: OwnTaskView | null;
  @ApiProperty({ description: 'Of the wake that queued the run.' }) reason!: string;
  @ApiProperty({ type: [OwnWakeView], description: 'The newest 200, oldest first.' }) wakes!: OwnWakeView[];
  @ApiProperty({ enum: CAPABILITIES, isArray: true, description: 'Frozen for this run.' }) capabilities!: Capability[];
  @ApiProperty({ format: 'date-time', description: 'When the token ends, if the run has not ended before.' }) expires_at!: string;
}

export class PostedCommentView {
  @ApiProperty({ format: 'uuid' }) comment_id!: string;
}

export class TaskStateView {
  @ApiProperty({ format: 'uuid' }) task_id!: string;
  @ApiProperty({ enum: TASK_STATES }) state!: TaskState;
}

export class SignalView {
  @ApiProperty({ description: 'It will be applied when this turn has ended well.' }) accepted!: boolean;
  @ApiPropertyOptional({ enum: SIGNAL_REFUSALS, description: 'Why it was not taken.' }) reason?: SignalRefusal;
}

export class MadeDecisionView {
  @ApiProperty({ format: 'uuid' }) decision_id!: string;
  @ApiProperty({ format: 'uuid' }) task_id!: string;
  @ApiProperty({ format: 'uuid', description: 'The step it was made at.' }) step_id!: string;
  @ApiProperty({ enum: DECISIONS }) decision!: DecisionWord;
}

export class NewSubtaskView {
  @ApiProperty({ format: 'uuid' }) task_id!: string;
}

/** An agent as other agents see it: how it is launched is redacted. */
export class ChangedAgentView {
  @ApiProperty({ type: AgentView }) agent!: AgentView;
}

export class MemoryView {
  @ApiProperty({ description: 'Its key in the one spelling it is kept in.' }) path!: string;
  @ApiProperty() content!: string;
  @ApiProperty({ format: 'date-time', description: 'Hand it back as `if_updated_at`.' }) updated_at!: string;
}

export class ReplacedMemoryView {
  @ApiProperty() content!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}

export class WrittenMemoryView extends MemoryView {
  @ApiProperty({ type: ReplacedMemoryView, nullable: true, description: 'What was there before.' }) replaced!: ReplacedMemoryView | null;
}

export class KnownSkillView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ description: 'The name of its folder.' }) slug!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ description: 'When to read it.' }) description!: string;
  @ApiProperty({ description: 'Of the office itself: it cannot be deleted.' }) is_system!: boolean;
}

export class KnownSkillsView {
  @ApiProperty({ type: [KnownSkillView] }) items!: KnownSkillView[];
}

export class DeletedSkillView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() deleted!: boolean;
}
