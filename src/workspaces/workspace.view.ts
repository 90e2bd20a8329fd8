import { ApiProperty } from '@nestjs/swagger';
import { ROLES } from '../access/domain/route-access.js';
import type { Role } from '../access/domain/route-access.js';
import { UserRefView } from '../access/people.view.js';
import { pageOf } from '../platform/http/page.view.js';
import { RESUME_MODES, WAIT_MODES } from './workspace.dto.js';

export class WorkspaceView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty() task_prefix!: string;
  @ApiProperty({ enum: ROLES, description: "The caller's role in it." }) role!: Role;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Since when nothing of it is started.' }) stopped_at!:
    string | null;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}
export class WorkspacePage extends pageOf(WorkspaceView) {}

export class WorkspaceSettingsView {
  @ApiProperty({ type: 'integer' }) agent_failure_threshold!: number;
  @ApiProperty() require_approval_for_new_agents!: boolean;
  @ApiProperty({ enum: RESUME_MODES }) resume_interrupted!: (typeof RESUME_MODES)[number];
  @ApiProperty({ enum: WAIT_MODES }) wait_for_reset!: (typeof WAIT_MODES)[number];
}

export class MemberView {
  @ApiProperty({ type: UserRefView }) user!: UserRefView;
  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}
export class MemberPage extends pageOf(MemberView) {}

/** A secret without its value, which never leaves. */
export class SecretView {
  @ApiProperty() name!: string;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}
export class SecretPage extends pageOf(SecretView) {}

export class HostView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid', description: 'New with every start of its server.' }) boot_id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ type: [String], description: 'Adapters whose agents are installed there.' }) adapters!: string[];
  @ApiProperty({ type: 'integer', description: 'How many agents it runs at most at a time.' }) max_executions!: number;
  @ApiProperty({ type: 'integer', description: 'How many runs it holds now.' }) running!: number;
  @ApiProperty({ description: 'It finishes what it runs and starts nothing new, until it is started again.' }) draining!: boolean;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When the turns of a draining host are cut off.' })
  drain_until!: string | null;
  @ApiProperty({ description: 'It was seen within one lease.' }) online!: boolean;
  @ApiProperty({ format: 'date-time' }) started_at!: string;
  @ApiProperty({ format: 'date-time' }) last_seen_at!: string;
}
export class HostPage extends pageOf(HostView) {}
