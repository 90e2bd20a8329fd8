import { ApiProperty } from '@nestjs/swagger';
import { AGENT_ROLES, CAPABILITIES, capabilitiesOf } from '../access/domain/capabilities.js';
import type { AgentRole, Capability } from '../access/domain/capabilities.js';
import { pageOf } from '../platform/http/page.view.js';
import { UsageView } from '../workspaces/usage.view.js';
import { NOTHING_READ } from './agent-readings.js';
import type { AgentReading } from './agent-readings.js';
import type { AgentRow, WholeAgentRow } from './agent.repository.js';
import { ADAPTERS, redacted } from './domain/adapter-config.js';
import type { Adapter } from './domain/adapter-config.js';
import { pickDot, pickSubtitle } from './domain/agent-card.js';
import type { Dot } from './domain/agent-card.js';
import { AGENT_STATUSES, statusOf } from './domain/agent-status.js';
import type { AgentStatus } from './domain/agent-status.js';

export class LastRunView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() status!: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) finished_at!: string | null;
}

export class PermissionsView {
  @ApiProperty({ enum: CAPABILITIES, isArray: true, required: false }) allow?: Capability[];
  @ApiProperty({ enum: CAPABILITIES, isArray: true, required: false, description: 'Wins over `allow`.' }) deny?: Capability[];
}

/** An agent in a list: without its configuration and instructions. */
export class ListedAgentView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ description: 'What a comment calls it by: `@handle`.' }) handle!: string;
  @ApiProperty({ enum: AGENT_ROLES }) role!: AgentRole;
  @ApiProperty({ enum: ADAPTERS }) adapter!: Adapter;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) reports_to!: string | null;
  @ApiProperty({ enum: AGENT_STATUSES, description: 'Derived; the first that holds.' }) status!: AgentStatus;
  @ApiProperty({ type: String, nullable: true }) pause_reason!: string | null;
  @ApiProperty({ enum: ['auto', 'person'], nullable: true, type: String }) pause_source!: 'auto' | 'person' | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) paused_at!: string | null;
  @ApiProperty({ description: 'Failed runs since the last one that succeeded.' }) consecutive_failures!: number;
  @ApiProperty({ type: Number, nullable: true, description: 'Null: the threshold of the workspace.' }) failure_threshold!: number | null;
  @ApiProperty() effective_failure_threshold!: number;
  @ApiProperty({ description: 'Failed runs that nobody has dismissed yet.' }) open_failures!: number;
  @ApiProperty() live_sessions!: number;
  @ApiProperty({ type: LastRunView, nullable: true }) last_run!: LastRunView | null;
  @ApiProperty({ description: 'The second line of its card.' }) subtitle!: string;
  @ApiProperty({ enum: ['red', 'green', 'grey'] }) dot!: Dot;
  @ApiProperty() max_concurrent_sessions!: number;
  @ApiProperty({ description: 'Seconds between the end of a run and the next.' }) cooldown_sec!: number;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}

export class AgentView extends ListedAgentView {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description:
      'How it is launched. For whoever is not an admin of the workspace (with a token of scope `admin`) `command`, the values of `env` and `script` read `[redacted]`.',
  })
  adapter_config!: Record<string, unknown>;
  @ApiProperty({ type: PermissionsView }) permissions!: PermissionsView;
  @ApiProperty({ enum: CAPABILITIES, isArray: true, description: 'What its role and permissions come to.' }) capabilities!: Capability[];
  @ApiProperty({ type: String, nullable: true }) instructions!: string | null;
  @ApiProperty({ type: UsageView, nullable: true, description: 'Of all its runs; null where none told.' }) usage!: UsageView | null;
}

export class AgentPage extends pageOf(ListedAgentView) {}

export function viewListedAgent(row: AgentRow, reading: AgentReading = NOTHING_READ): ListedAgentView {
  const { lastRun } = reading;
  const card = {
    lifecycle: row.lifecycle,
    pauseSource: row.pause_source,
    consecutiveFailures: row.consecutive_failures,
    liveSessions: reading.liveSessions,
    lastRun: lastRun && { status: lastRun.status, failureKind: lastRun.failureKind, endedSecondsAgo: lastRun.finishedSecondsAgo },
  };
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    name: row.name,
    handle: row.handle,
    role: row.role,
    adapter: row.adapter,
    reports_to: row.reports_to,
    status: statusOf(card),
    pause_reason: row.pause_reason,
    pause_source: row.pause_source,
    paused_at: row.paused_at?.toISOString() ?? null,
    consecutive_failures: row.consecutive_failures,
    failure_threshold: row.failure_threshold,
    effective_failure_threshold: row.effective_failure_threshold,
    open_failures: reading.openFailures,
    live_sessions: reading.liveSessions,
    last_run: lastRun && { id: lastRun.id, status: lastRun.status, finished_at: lastRun.finishedAt?.toISOString() ?? null },
    subtitle: pickSubtitle(card),
    dot: pickDot(card),
    max_concurrent_sessions: row.max_concurrent_sessions,
    cooldown_sec: row.cooldown_sec,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** `sees` says how much of `adapter_config`; a secret is only ever a name in it. */
export function viewAgent(
  row: WholeAgentRow,
  reading: AgentReading | undefined,
  sees: 'everything' | 'redacted',
  usage: UsageView | null,
): AgentView {
  const { allow, deny } = row.permissions;
  return Object.assign(viewListedAgent(row, reading), {
    adapter_config: sees === 'everything' ? { ...row.adapter_config } : redacted(row.adapter_config),
    permissions: { ...(allow && { allow: [...allow] }), ...(deny && { deny: [...deny] }) },
    capabilities: capabilitiesOf(row.role, row.permissions),
    instructions: row.instructions,
    usage,
  });
}
