import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';
import { APPROVAL_TARGETS, APPROVAL_TYPES } from './runtime.dto.js';

export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected'] as const;

export class ApprovalAgentView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
}

export class ApprovalTaskView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() identifier!: string;
  @ApiProperty() title!: string;
}

/** Something an agent wants and only a person may grant. */
export class ApprovalView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty({ enum: APPROVAL_TYPES }) type!: string;
  @ApiProperty({ enum: APPROVAL_STATUSES }) status!: string;
  @ApiProperty({ type: ApprovalAgentView, description: 'Who asks.' }) agent!: ApprovalAgentView;
  @ApiProperty({ format: 'uuid' }) run_id!: string;
  @ApiProperty({ type: ApprovalTaskView, nullable: true }) task!: ApprovalTaskView | null;
  @ApiProperty({ enum: APPROVAL_TARGETS, nullable: true, type: String }) target_type!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) target_id!: string | null;
  @ApiProperty() reason!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Of a hire: the agent as it will be, with everything it may do. It becomes exactly that, or nothing.',
  })
  payload!: Record<string, unknown>;
  @ApiProperty({ format: 'date-time' }) requested_at!: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) decided_at!: string | null;
  @ApiProperty({ type: ApprovalAgentView, nullable: true, description: 'The person; the office itself is called `system`.' })
  decided_by!: ApprovalAgentView | null;
  @ApiProperty({ type: String, nullable: true }) decision_note!: string | null;
}

export class ApprovalPage extends pageOf(ApprovalView) {}

export class RequestedApprovalView {
  @ApiProperty({ type: ApprovalView }) approval!: ApprovalView;
}
