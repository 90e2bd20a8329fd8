import { ApiProperty } from '@nestjs/swagger';
import { CAPABILITIES, type Capability } from '../access/domain/capabilities.js';
import { pageOf } from '../platform/http/page.view.js';
import { PERMISSION_DECISIONS, type PermissionDecision } from './domain/permission-decision.js';
import { ITEM_KINDS, type ItemKind } from './domain/item-title.js';

export class ItemTaskView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() identifier!: string;
  @ApiProperty({ description: 'Empty once the task is deleted.' }) title!: string;
}

/** Who dealt with an item; the office itself is called `system`. */
export class ResolverView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
}

export class ResolvedView {
  @ApiProperty({ type: ResolverView }) by!: ResolverView;
  @ApiProperty({ format: 'date-time' }) at!: string;
}

/** What an agent asks permission for. */
export class AskedPermissionView {
  @ApiProperty({ description: "The agent's own word for it." }) title!: string;
  @ApiProperty({ type: String, nullable: true, description: 'The kind of tool: execute, edit, …' }) tool_kind!: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'What exactly, as JSON, cut to 4 KiB.' }) input!: string | null;
  @ApiProperty({ format: 'date-time', description: 'Then it is denied.' }) expires_at!: string;
  @ApiProperty({ enum: PERMISSION_DECISIONS, nullable: true, description: 'Null while it is open, or when nobody waits for it any more.' })
  decision!: PermissionDecision | null;
}

/** Something that needs a person, or needed one. Shared: whoever resolves it resolves it for everyone. */
export class InboxItemView {
  @ApiProperty({ format: 'uuid', description: 'The run, the pause episode, the interruption: whatever the kind is about.' }) id!: string;
  @ApiProperty({ enum: ITEM_KINDS }) kind!: ItemKind;
  @ApiProperty() title!: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) agent_id!: string | null;
  @ApiProperty({ type: String, nullable: true }) agent_name!: string | null;
  @ApiProperty({ type: [String] }) task_ids!: string[];
  @ApiProperty({ type: [ItemTaskView] }) tasks!: ItemTaskView[];
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) run_id!: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'One line of what went wrong.' }) error_summary!: string | null;
  @ApiProperty({ type: String, nullable: true }) error_class!: string | null;
  @ApiProperty({ type: String, nullable: true }) error_code!: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Who must act, in one line.' }) hint!: string | null;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ type: [String], description: 'What can be done about it; nothing once it is resolved.' }) actions!: string[];
  @ApiProperty({ type: AskedPermissionView, nullable: true, description: 'Of a permission request.' })
  permission!: AskedPermissionView | null;
  @ApiProperty({ enum: CAPABILITIES, nullable: true, description: 'Of a missing capability: which.' }) capability!: Capability | null;
  @ApiProperty({ type: ResolvedView, nullable: true }) resolved!: ResolvedView | null;
}

export class InboxPage extends pageOf(InboxItemView) {}

export class InboxCountView {
  @ApiProperty({ type: 'integer', description: 'How many items are open: the length of the whole list.' }) open!: number;
}
