import { ApiProperty } from '@nestjs/swagger';
import { ListedAgentView } from '../agents/agent.view.js';
import { AGENT_STATUSES, type AgentStatus } from '../agents/domain/agent-status.js';
import { BADGES, type Badge } from './domain/triage.js';

export class AgentSummariesView {
  @ApiProperty({ type: [ListedAgentView], description: 'Whoever is at work first, then by the last run, then by name.' })
  items!: ListedAgentView[];
}

export class SidebarAgentView {
  @ApiProperty({ format: 'uuid' }) agent_id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: AGENT_STATUSES }) status!: AgentStatus;
  @ApiProperty() paused!: boolean;
  @ApiProperty({ type: String, nullable: true }) pause_reason!: string | null;
  @ApiProperty({ type: 'integer', description: 'Its `agent_run_failed` items in the inbox: "<N> errors".' }) open_failures!: number;
  @ApiProperty({ type: 'integer', description: 'Sessions somebody is at work in.' }) live!: number;
  @ApiProperty({ enum: BADGES, description: '`paused` beats `live`.' }) badge!: Badge;
}

export class SidebarView {
  @ApiProperty({ type: 'integer', description: 'Open inbox items.' }) inbox!: number;
  @ApiProperty({ type: [SidebarAgentView] }) agents!: SidebarAgentView[];
}

export class DayView {
  @ApiProperty({ format: 'date', description: 'UTC.' }) day!: string;
  @ApiProperty({ type: 'integer' }) completed!: number;
  @ApiProperty({ type: 'integer', description: 'Failures of agents, timeouts included; interruptions are not.' }) failed!: number;
  @ApiProperty({ type: 'integer' }) interrupted!: number;
  @ApiProperty({ type: 'integer' }) cancelled!: number;
}

export class DashboardView {
  @ApiProperty({ type: 'integer', description: 'Open inbox items.' }) inbox!: number;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' }, description: 'Agents by their status.' })
  agents!: Record<AgentStatus, number>;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'Open and closed tasks by their state; archived ones are left out.',
  })
  tasks!: Record<string, number>;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' }, description: 'Runs that wait and runs that run.' })
  runs!: { queued: number; running: number };
  @ApiProperty({ type: [DayView], description: 'The last 14 days, today last.' }) days!: DayView[];
}
