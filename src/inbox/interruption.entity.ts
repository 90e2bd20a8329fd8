import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { HostEntity } from '../workspaces/host.entity.js';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** What one end of one server took away from a workspace, until a person has dealt with it. */
@Entity('interruptions')
@Unique('interruptions_once_per_workspace', ['workspaceId', 'id'])
@Index('interruptions_one_open_per_boot', ['workspaceId', 'hostId', 'bootId'], { unique: true, where: `resolved_at is null` })
@Check('interruptions_cause_known', `cause in ('host_restart', 'drain_deadline', 'lost_lease')`)
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'interruptions_workspace_exists' })
@ForeignKey(() => HostEntity, ['hostId'], ['id'], { name: 'interruptions_host_exists' })
export class InterruptionEntity {
  @PrimaryColumn('uuid') readonly id!: string;
  @Column('uuid') readonly workspaceId!: string;
  @Column('uuid') readonly hostId!: string;
  @Column('uuid') readonly bootId!: string;
  @Column('text') readonly cause!: 'host_restart' | 'drain_deadline' | 'lost_lease';
  @Column('timestamptz', { default: () => 'now()' }) readonly openedAt!: Date;
  @Column('timestamptz', { nullable: true }) resolvedAt!: Date | null;
}
