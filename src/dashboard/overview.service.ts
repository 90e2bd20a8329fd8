import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import { AGENT_STATUSES, type AgentStatus } from '../agents/domain/agent-status.js';
import { InboxReads } from '../inbox/inbox-reads.service.js';
import { outside } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { TASK_STATES } from '../tasks/domain/task-state.js';
import type { AgentSummariesView, DashboardView, DayView, SidebarView } from './dashboard.view.js';
import { badgeOf, byUrgency } from './domain/triage.js';

const NUMBERS = `
  select (select coalesce(jsonb_object_agg(state, n), '{}') from (
            select state, count(*) as n from tasks
             where workspace_id = $1 and archived_at is null and deleted_at is null group by state) by_state) as tasks,
         (select count(*)::int from runs where workspace_id = $1 and status in ('queued', 'scheduled_retry')) as queued,
         (select count(*)::int from agent_instances a join runs r on r.agent_id = a.id and r.status = 'running' where a.workspace_id = $1) as running`;

/** Every day has a row, whether anything ended on it or not. */
const DAYS = `
  with days as (
    select day, day + interval '1 day' as next
      from generate_series(date_trunc('day', now() at time zone 'UTC') - interval '13 days', date_trunc('day', now() at time zone 'UTC'), interval '1 day') day
  )
  select to_char(day, 'YYYY-MM-DD') as day, ended.completed, ended.failed, ended.interrupted, ended.cancelled
    from days cross join lateral (
      select count(*) filter (where status = 'completed')::int as completed,
             count(*) filter (where status in ('failed', 'timed_out') and failure_kind = 'error')::int as failed,
             count(*) filter (where failure_kind = 'interrupted')::int as interrupted,
             count(*) filter (where status = 'cancelled')::int as cancelled
        from runs where workspace_id = $1 and finished_at >= days.day at time zone 'UTC' and finished_at < days.next at time zone 'UTC') ended
   order by days.day`;

/** The views people triage by. A fixed number of statements each, however large the workspace is. */
@Injectable()
export class Overview {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly agents: AgentService,
    private readonly inbox: InboxReads,
  ) {}

  async summaries(workspaceId: string): Promise<AgentSummariesView> {
    const staff = await this.agents.staff(outside(this.unitOfWork), workspaceId);
    return { items: staff.sort(byUrgency) };
  }

  async sidebar(workspaceId: string): Promise<SidebarView> {
    const [staff, { open }] = await Promise.all([this.agents.staff(outside(this.unitOfWork), workspaceId), this.inbox.count(workspaceId)]);
    const agents = staff
      .toSorted((a, b) => a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1))
      .map(({ id, name, status, pause_source, pause_reason, open_failures, live_sessions: live }) => {
        const paused = pause_source !== null;
        return { agent_id: id, name, status, paused, pause_reason, open_failures, live, badge: badgeOf({ paused, live }) };
      });
    return { inbox: open, agents };
  }

  async dashboard(workspaceId: string): Promise<DashboardView> {
    const db = outside(this.unitOfWork);
    const [staff, { open }, [numbers], days] = await Promise.all([
      this.agents.staff(db, workspaceId),
      this.inbox.count(workspaceId),
      db.query<{ tasks: Record<string, number>; queued: number; running: number }>(NUMBERS, [workspaceId]),
      db.query<DayView>(DAYS, [workspaceId]),
    ]);
    const of = (status: AgentStatus): number => staff.filter((agent) => agent.status === status).length;
    const shown = AGENT_STATUSES.filter((status) => status !== 'archived');
    return {
      inbox: open,
      agents: Object.fromEntries(shown.map((status) => [status, of(status)])) as Record<AgentStatus, number>,
      tasks: Object.fromEntries(TASK_STATES.map((state) => [state, numbers!.tasks[state] ?? 0])),
      runs: { queued: numbers!.queued, running: numbers!.running },
      days,
    };
  }
}
