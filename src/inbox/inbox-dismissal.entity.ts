import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { UserEntity } from '../access/user.entity.js';
import { AgentPauseEntity } from '../agents/agent-pause.entity.js';
import { WorkspaceEntity } from '../workspaces/workspace.entity.js';

/** An inbox item was dealt with: by whom, for everyone. */
@Entity('inbox_dismissals')
@Unique('inbox_dismissals_one_per_item', ['itemKind', 'itemId'])
@Index('inbox_dismissals_by_time', ['workspaceId', 'dismissedAt', 'itemId'])
@Index('inbox_dismissals_by_pause', ['pauseId'], { where: `pause_id is not null` })
@ForeignKey(() => UserEntity, ['userId'], ['id'], { name: 'inbox_dismissals_user_exists' })
@ForeignKey(() => WorkspaceEntity, ['workspaceId'], ['id'], { name: 'inbox_dismissals_workspace_exists' })
@ForeignKey(() => AgentPauseEntity, ['workspaceId', 'pauseId'], ['workspaceId', 'id'], { name: 'inbox_dismissals_pause_exists' })
export class InboxDismissalEntity {
  @PrimaryColumn('uuid') readonly userId!: string;
  @PrimaryColumn('text') readonly itemKind!: string;
  @PrimaryColumn('uuid') readonly itemId!: string;
  @Column('uuid') readonly workspaceId!: string;
  /** The pause that swallowed the item; when it ends unfixed, the item opens again. */
  @Column('uuid', { nullable: true }) readonly pauseId!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) readonly dismissedAt!: Date;
}
