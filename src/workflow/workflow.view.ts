import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';
import { STEP_KINDS, type StepKind } from './domain/office-workflow.js';
import { SEAT_ROLES, type SeatRole } from './domain/seat.js';

export class SeatView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: SEAT_ROLES }) role!: SeatRole;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) agent_id!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) user_id!: string | null;
  @ApiProperty({ description: 'Of its holder.' }) name!: string;
  @ApiProperty() decision_required!: boolean;
}

export class AgentErrorTargetView {
  @ApiProperty({ description: '`ceo` or the id of an agent.' }) target!: string;
}

export class WorkflowStepView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: STEP_KINDS }) kind!: StepKind;
  @ApiProperty() requires_signal!: boolean;
  @ApiProperty({ type: AgentErrorTargetView, nullable: true }) on_agent_error!: AgentErrorTargetView | null;
  @ApiProperty({ type: [SeatView], description: 'Of every task that comes here; a task may have others of its own.' }) seats!: SeatView[];
}

export class WorkflowView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: ['office', 'kanban'] }) style!: 'office' | 'kanban';
  @ApiProperty({ description: 'Tasks go through it unless they name another.' }) is_office_default!: boolean;
  @ApiProperty({ type: [WorkflowStepView], description: 'In order.' }) steps!: WorkflowStepView[];
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}

export class WorkflowPage extends pageOf(WorkflowView) {}
