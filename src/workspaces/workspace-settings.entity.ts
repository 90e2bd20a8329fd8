import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WorkspaceEntity } from './workspace.entity.js';

/** How a workspace wants failures, hires, interruptions and provider limits treated. */
@Entity('workspace_settings')
@Check('workspace_settings_threshold_range', `agent_failure_threshold between 1 and 100`)
@Check('workspace_settings_resume_known', `resume_interrupted in ('ask', 'auto')`)
@Check('workspace_settings_wait_known', `wait_for_reset in ('off', 'on')`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'workspace_settings_workspace_exists' })
export class WorkspaceSettingsEntity {
  @PrimaryColumn('uuid') readonly workspaceId!: string;
  @Column('integer', { default: 3 }) agentFailureThreshold!: number;
  @Column('boolean', { default: true }) requireApprovalForNewAgents!: boolean;
  @Column('text', { default: 'ask' }) resumeInterrupted!: 'ask' | 'auto';
  @Column('text', { default: 'off' }) waitForReset!: 'off' | 'on';
}
