import { Injectable } from '@nestjs/common';
import { AgentReadings, type AgentReading } from '../agents/agent-readings.js';
import type { Reading } from '../platform/database/reading.js';
import { liveSessionsOf } from '../sessions/live-session.sql.js';
import { usageSql } from '../workspaces/usage.sql.js';
import type { UsageView } from '../workspaces/usage.view.js';
import { OPEN_FAILURE } from './open-items.sql.js';

interface Row {
  readonly agent_id: string;
  readonly open_failures: number;
  readonly live_sessions: number;
  readonly run_id: string | null;
  readonly run_status: string | null;
  readonly failure_kind: string | null;
  readonly finished_at: Date | null;
  readonly finished_seconds_ago: number | null;
}

const READ = `
  select a.id as agent_id,
         (select count(*)::int from runs r where r.workspace_id = a.workspace_id and r.agent_id = a.id and ${OPEN_FAILURE}) as open_failures,
         ${liveSessionsOf('a.id')} as live_sessions,
         last.id as run_id, last.status as run_status, last.failure_kind, last.finished_at,
         extract(epoch from now() - last.finished_at)::float8 as finished_seconds_ago
    from agent_instances a
    left join lateral (
      select r.id, r.status, r.failure_kind, r.finished_at from runs r where r.agent_id = a.id order by r.id desc limit 1) last on true
   where a.workspace_id = $1 and a.id = any($2::uuid[])`;

/** What the inbox and the runs know of agents: the count of open failures is the list's own predicate. */
@Injectable()
export class InboxAgentReadings extends AgentReadings {
  override async usageOf(db: Reading, workspaceId: string, agentId: string): Promise<UsageView | null> {
    const condition = 'u.workspace_id = $1 and u.agent_id = $2';
    const [row] = await db.query<{ usage: UsageView | null }>(`select ${usageSql(condition)} as usage`, [workspaceId, agentId]);
    return row!.usage;
  }

  override async of(db: Reading, workspaceId: string, agentIds: readonly string[]): Promise<ReadonlyMap<string, AgentReading>> {
    if (agentIds.length === 0) return new Map();
    const rows = await db.query<Row>(READ, [workspaceId, agentIds]);
    return new Map(rows.map((row) => [row.agent_id, readingOf(row)]));
  }
}

const readingOf = (row: Row): AgentReading => ({
  openFailures: row.open_failures,
  liveSessions: row.live_sessions,
  lastRun:
    row.run_id === null
      ? null
      : {
          id: row.run_id,
          status: row.run_status!,
          failureKind: row.failure_kind,
          finishedAt: row.finished_at,
          finishedSecondsAgo: row.finished_seconds_ago,
        },
});
