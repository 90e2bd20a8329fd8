import { Injectable } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { wireInstant as instant } from '../platform/database/exact-instant.js';
import type { Reading } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom, type Page } from '../platform/http/page.view.js';
import { hintFor } from '../diagnosis/domain/hint.js';
import { pillOf } from './domain/run-status.js';
import type { WaitingOn } from './domain/waiting-on.js';
import type { AgentRunsQuery, WorkspaceRunsQuery } from './run.dto.js';
import type { RunEventView, RunRowView, RunView } from './run.view.js';
import { usageSql } from '../workspaces/usage.sql.js';
import { breakerClosesSql } from './breaker.sql.js';
import { HELD_UNTIL } from './provider-hold.sql.js';
import { FOLDER_HOST, RUN_PAIR, waitingOnSql } from './waiting-on.sql.js';

type RunRow = Omit<RunRowView, 'pill' | 'hint'> & { readonly adapter: string; readonly retry_after: string | null };
type WholeRunRow = Omit<RunView, 'pill' | 'hint'> & RunRow;

/** `$2` is the lease, `$3` the tasks whose last process still goes down here. The wide columns are not among these. */
const ROW = `r.id, r.agent_id, r.status, r.reason, r.note, ${instant('r.requested_at')} as requested_at,
  ${instant('r.started_at')} as started_at, ${instant('r.finished_at')} as finished_at, r.error_summary,
  r.error_code, r.error_class, ${instant('r.retry_after')} as retry_after, a.adapter,
  case when t.id is null then null else jsonb_build_object('id', t.id, 'identifier', t.identifier, 'title', t.title) end as task,
  wait.reason as waiting_on,
  case wait.reason when 'retry_scheduled' then ${instant('r.due_at')}
                   when 'provider_limited' then ${instant(HELD_UNTIL)}
                   when 'breaker_open' then ${instant(breakerClosesSql(RUN_PAIR))}
                   when 'cooling_down' then ${instant('a.last_run_finished_at + make_interval(secs => a.cooldown_sec)')} end as waiting_until`;

const FROM = `from (select r.*, ${FOLDER_HOST} from runs r) r
  join agent_instances a on a.id = r.agent_id
  join workspaces w on w.id = r.workspace_id
  left join tasks t on t.id = r.task_id
  cross join lateral (select case when r.status in ('queued', 'scheduled_retry')
    then ${waitingOnSql({ leaseSec: '$2', host: null, busyTasks: '$3' })} end as reason) wait`;

/** Says on this server which tasks are still being left by their last process. Filled by the scheduler. */
export abstract class BusyTasks {
  abstract busyTaskIds(): string[];
}

/** Runs as people see them. */
@Injectable()
export class RunReads {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
    private readonly busy: BusyTasks,
  ) {}

  ofAgent(workspaceId: string, agentId: string, query: AgentRunsQuery): Promise<Page<RunRowView>> {
    return this.page(workspaceId, query, { status: query.status, agentId });
  }

  ofWorkspace(workspaceId: string, query: WorkspaceRunsQuery): Promise<Page<RunRowView>> {
    return this.page(workspaceId, query, { status: query.status, agentId: query.agent_id, taskId: query.task_id });
  }

  /** Newest first. */
  private async page(
    workspaceId: string,
    { limit, cursor }: PageQuery,
    only: { status?: string | undefined; agentId?: string | undefined; taskId?: string | undefined },
  ): Promise<Page<RunRowView>> {
    const parameters: unknown[] = [workspaceId, this.settings.OFFICE_LEASE_SEC, this.busy.busyTaskIds(), limit + 1];
    const and = (condition: (place: string) => string, value: unknown): string =>
      value === undefined || value === null ? '' : ` and ${condition(`$${parameters.push(value)}`)}`;
    const rows = await this.unitOfWork.read<RunRow>(
      `select ${ROW} ${FROM} where r.workspace_id = $1
        ${and((place) => `r.agent_id = ${place}`, only.agentId)}${and((place) => `r.task_id = ${place}`, only.taskId)}
        ${and((place) => `r.status = ${place}`, only.status)}${and((place) => `r.id < ${place}`, decodeCursor(cursor))}
        order by r.id desc limit $4`,
      parameters,
    );
    return pageFrom(rows, limit, ({ id }) => id, rowView);
  }

  async one(workspaceId: string, runId: string): Promise<RunView> {
    const [row] = await this.unitOfWork.read<WholeRunRow>(
      `select ${ROW}, r.workspace_id, r.session_id, r.error_message, r.failure_kind, r.cancel_reason,
              r.merged_into, r.stop_reason, ${instant('r.stop_requested_at')} as stop_requested_at, r.generation, r.retry_count,
              ${instant('r.claimed_at')} as claimed_at, ${instant('r.launched_at')} as launched_at, r.capabilities,
              r.input_snapshot -> 'prompt' as prompt, ${usageSql('u.run_id = r.id')} as usage, r.causation_id, r.depth,
              (select coalesce(jsonb_agg(jsonb_build_object(
                        'generation', n.generation, 'host_id', n.host_id, 'execution_id', n.execution_id,
                        'claimed_at', ${instant('n.claimed_at')}, 'launched_at', ${instant('n.launched_at')},
                        'started_at', ${instant('n.started_at')}, 'finished_at', ${instant('n.finished_at')},
                        'outcome', n.outcome, 'error_code', n.error_code, 'error_class', n.error_class, 'rule', n.rule,
                        'error_payload', n.error_payload, 'evidence', n.evidence, 'late_result', n.late_result,
                        'usage', n.usage) order by n.generation), '[]')
                 from run_attempts n where n.run_id = r.id) as attempts,
              (select coalesce(jsonb_agg(jsonb_build_object(
                        'id', q.id, 'reason', q.reason, 'note', q.note, 'outcome', q.outcome, 'stale', q.stale,
                        'actor', jsonb_build_object('kind', q.actor_kind, 'id', q.actor_id),
                        'requested_at', ${instant('q.requested_at')}) order by q.id), '[]')
                 from (select * from wake_requests where run_id = r.id order by id desc limit 200) q) as wakes
         ${FROM} where r.workspace_id = $1 and r.id = $4`,
      [workspaceId, this.settings.OFFICE_LEASE_SEC, this.busy.busyTaskIds(), runId],
    );
    if (row === undefined) throw new OfficeError('not_found');
    const { adapter: _adapter, ...whole } = row;
    return Object.assign(rowView(row), whole);
  }

  /** A run's own log, oldest first. */
  async events(workspaceId: string, runId: string, { limit, cursor }: PageQuery): Promise<Page<RunEventView>> {
    const after = decodeCursor(cursor, (key) => /^\d{1,9}$/.test(key)) ?? '0';
    const rows = await this.unitOfWork.read<RunEventView>(
      `select seq, event_type, level, payload, ${instant('created_at')} as created_at
         from office_run_events where workspace_id = $1 and run_id = $2 and seq > $3 order by seq limit $4`,
      [workspaceId, runId, Number(after), limit + 1],
    );
    return pageFrom(
      rows,
      limit,
      ({ seq }) => String(seq),
      (row) => row,
    );
  }

  /** The same of many, in one statement. Runs that do not wait have no entry. */
  async waitingOnEach(reading: Reading, workspaceId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, WaitingOn>> {
    if (runIds.length === 0) return new Map();
    const rows = await reading.query<{ id: string; reason: WaitingOn }>(
      `select r.id, wait.reason ${FROM} where r.workspace_id = $1 and r.id = any($4::uuid[]) and wait.reason is not null`,
      [workspaceId, this.settings.OFFICE_LEASE_SEC, this.busy.busyTaskIds(), runIds],
    );
    return new Map(rows.map(({ id, reason }) => [id, reason]));
  }

  /** Why a waiting run waits, for whoever has just queued it. */
  async waitingOn(reading: Reading, workspaceId: string, runId: string): Promise<WaitingOn | null> {
    const [row] = await reading.query<{ reason: WaitingOn | null }>(`select wait.reason ${FROM} where r.workspace_id = $1 and r.id = $4`, [
      workspaceId,
      this.settings.OFFICE_LEASE_SEC,
      this.busy.busyTaskIds(),
      runId,
    ]);
    return row?.reason ?? null;
  }
}

const rowView = (row: RunRow): RunRowView => ({
  id: row.id,
  agent_id: row.agent_id,
  status: row.status,
  pill: pillOf(row.status),
  reason: row.reason,
  note: row.note,
  task: row.task,
  requested_at: row.requested_at,
  started_at: row.started_at,
  finished_at: row.finished_at,
  error_summary: row.error_summary,
  error_code: row.error_code,
  error_class: row.error_class,
  hint: hintFor({ code: row.error_code, adapter: row.adapter, retrying: row.status === 'scheduled_retry', retryAfter: row.retry_after }),
  waiting_on: row.waiting_on,
  waiting_until: row.waiting_until,
});
