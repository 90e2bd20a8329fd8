import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';
import { UsageView } from '../workspaces/usage.view.js';
import { isLiveSession, SESSION_STATES } from './domain/session-state.js';
import type { SessionState } from './domain/session-state.js';
import type { SessionRow } from './session.repository.js';

export class ExecutorView {
  @ApiProperty({ format: 'uuid' }) host_id!: string;
  @ApiProperty({ description: 'The folder on that host.' }) path!: string;
  @ApiProperty({ type: String, nullable: true }) branch!: string | null;
}

export class SessionView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true }) task_id!: string | null;
  @ApiProperty({ format: 'uuid' }) agent_id!: string;
  @ApiProperty({ enum: SESSION_STATES }) state!: SessionState;
  @ApiProperty({ description: 'Somebody is at work in it.' }) live!: boolean;
  @ApiProperty({ type: String, nullable: true, description: 'What the agent itself calls the conversation.' }) acp_session_id!:
    string | null;
  @ApiProperty({ type: ExecutorView, nullable: true, description: 'Where it works; a resume returns there.' })
  executor!: ExecutorView | null;
  @ApiProperty({ type: String, nullable: true, description: 'While FAILED: the raw payload.' }) error_message!: string | null;
  @ApiProperty() turns!: number;
  @ApiProperty({ type: UsageView, nullable: true, description: 'Of all its turns; null where none told.' }) usage!: UsageView | null;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}

export class SessionPage extends pageOf(SessionView) {}

export const viewSession = (row: SessionRow): SessionView => ({
  id: row.id,
  task_id: row.task_id,
  agent_id: row.agent_id,
  state: row.state,
  live: isLiveSession(row.state, row.is_office),
  acp_session_id: row.acp_session_id,
  executor: row.executor && { ...row.executor },
  error_message: row.error_message,
  turns: row.turns,
  usage: row.usage,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
