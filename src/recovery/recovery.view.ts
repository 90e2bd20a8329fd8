import { ApiProperty } from '@nestjs/swagger';
import { ITEM_KINDS, type ItemKind } from '../inbox/domain/item-title.js';
import { WAITING_ON, type WaitingOn } from '../runs/domain/waiting-on.js';
import { SESSION_STATES, type SessionState } from '../sessions/domain/session-state.js';
import { SKIPS, type Skip } from './domain/skip.js';

export class QueuedRunView {
  @ApiProperty({ format: 'uuid', description: 'Queued by this, or under way or waiting already and joined.' }) run_id!: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) task_id!: string | null;
  @ApiProperty({ format: 'uuid' }) agent_id!: string;
  @ApiProperty({ enum: WAITING_ON, nullable: true, description: 'Why it does not run yet; null once it does.' })
  waiting_on!: WaitingOn | null;
}

export class SkippedView {
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) task_id!: string | null;
  @ApiProperty({ format: 'uuid' }) agent_id!: string;
  @ApiProperty({ enum: SKIPS }) why!: Skip;
}

/** What Mark fixed did. */
export class FixedView {
  @ApiProperty({ format: 'uuid' }) item_id!: string;
  @ApiProperty({ enum: ITEM_KINDS }) kind!: ItemKind;
  @ApiProperty() dismissed!: boolean;
  @ApiProperty({ description: 'Somebody had been faster: nothing was done now.' }) already_dismissed!: boolean;
  @ApiProperty({ type: [QueuedRunView] }) queued_runs!: QueuedRunView[];
  @ApiProperty({ type: [SkippedView], description: 'What was left asleep, and why.' }) skipped!: SkippedView[];
  @ApiProperty({ enum: WAITING_ON, required: false, description: 'Why the first of the queued runs does not run yet.' })
  waiting_on?: WaitingOn;
}

export class RefusedItemView {
  @ApiProperty({ format: 'uuid' }) item_id!: string;
  @ApiProperty({ enum: [false] }) dismissed!: false;
  @ApiProperty() code!: string;
  @ApiProperty() error!: string;
}

/** One answer per item, in the order they were named. */
export class FixedItemsView {
  items!: (FixedView | RefusedItemView)[];
}

export class ResumedSessionView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: SESSION_STATES }) state!: SessionState;
}

export class ResumedView {
  @ApiProperty({ type: ResumedSessionView }) session!: ResumedSessionView;
  @ApiProperty({ format: 'uuid' }) run_id!: string;
  @ApiProperty({ enum: WAITING_ON, nullable: true }) waiting_on!: WaitingOn | null;
}

export class WorkspaceSwitchView {
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) stopped_at!: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) stopped_by!: string | null;
  @ApiProperty({ type: 'integer', description: 'Runs that were asked to stop by this; they end when their processes have.' })
  stopping_runs!: number;
}
