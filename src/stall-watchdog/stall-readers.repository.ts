import { Injectable } from '@nestjs/common';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { exactInstant, instantOf } from '../platform/database/exact-instant.js';
import { outside, type Reading } from '../platform/database/reading.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { SIGNAL_IS_CURRENT } from '../sessions/signal.repository.js';
import { IS_FROM_OFFICE } from '../tasks/domain/is-from-office.js';
import { seatHolds, SEAT_IS_NEEDED } from '../workflow/domain/seat.js';
import type { DecisionAtStep, SeatAtStep } from './domain/decision-wait.js';
import {
  QuietTurns,
  RunsInFlight,
  SignalledSessions,
  StepDecisions,
  StepParticipants,
  TasksAtGates,
  type Page,
  type QuietTurn,
  type SignalledSession,
  type TaskAtGate,
} from './stall-readers.js';

const since = (column: string): string => `(extract(epoch from now() - ${column}) * 1000)::float8`;
const secs = (placeholder: string): string => `make_interval(secs => ${placeholder}::float8 / 1000)`;
/** A place is the exact time of a candidate and its id. */
const place = (at: string, id: string): string => `${exactInstant(at)} || ' ' || ${id}`;
const after = (at: string, id: string, placeholder: string): string =>
  `(${placeholder}::text is null or (${at}, ${id}) > (${instantOf(`split_part(${placeholder}, ' ', 1)`)}, split_part(${placeholder}, ' ', 2)::uuid))`;
const EVIDENCE = `jsonb_build_object('lastContentAt', r.last_content_at, 'processAlive', r.process_alive, 'currentTool', r.current_tool)`;
const NOTHING = `jsonb_build_object('lastContentAt', null, 'processAlive', null, 'currentTool', null)`;

const TASK_IS_OPEN = `task.state not in ('DONE', 'CANCELLED') and task.archived_at is null and task.deleted_at is null`;

/**
 * `$1`: how long what the owner of a run said last is believed. A turn under way is silent since its last content, or since it was
 * claimed; a conversation between two turns since its last turn ended.
 */
const SIGNALLED = `
  select ${place('session.signaled_at', 'session.id')} as place, session.workspace_id as "workspaceId", session.task_id as "taskId",
         session.agent_id as "agentId", session.id as "sessionId", session.signal_step_id as "stepId",
         ${exactInstant('session.signaled_at')}::text as "signaledAt", session.state, session.is_passthrough as "isPassthrough",
         ${IS_FROM_OFFICE} as "isOffice",
         jsonb_build_object('isCurrent', ${SIGNAL_IS_CURRENT}, 'ageMs', ${since('session.signaled_at')}) as signal,
         case when session.state not in ('STARTING', 'RUNNING') then ${since('coalesce(past.finished_at, session.updated_at)')}
              when r.evidence_at > now() - ${secs('$1')} then ${since('coalesce(r.last_content_at, r.claimed_at)')} end as "quietMs",
         case when r.id is null then null else jsonb_build_object('runId', r.id, 'generation', r.generation) end as turn,
         case when r.evidence_at > now() - ${secs('$1')} then ${EVIDENCE} else ${NOTHING} end as evidence
    from task_sessions session
    join tasks task on task.id = session.task_id
    join workflows workflow on workflow.id = task.workflow_id
    left join runs r on r.task_id = session.task_id and r.status = 'running' and r.session_id = session.id
    left join lateral (
      select ended.finished_at from runs ended
       where ended.task_id = session.task_id
         and case when ended.session_id = session.id and ended.finished_at is not null then true else false end
       order by ended.id desc limit 1) past on true
   where session.signaled_at is not null and ${TASK_IS_OPEN}`;

const SIGNALLED_PAGE = `${SIGNALLED} and session.signaled_at < now() - ${secs('$2')} and ${after('session.signaled_at', 'session.id', '$3')}
     and ($4::uuid is null or session.workspace_id = $4) order by session.signaled_at, session.id limit $5`;
const SIGNALLED_AGAIN = `${SIGNALLED} and session.id = $2`;

/** The cheap half of the question, along `tasks_waiting_at_gate`: the oldest first, so that what is cut off is the freshest. */
const AT_GATE = `
  select ${place('task.step_entered_at', 'task.id')} as place, task.workspace_id as "workspaceId", task.id as "taskId", task.step_id as "stepId",
         ${since('task.step_entered_at')} as "waitedMs", task.updated_at as "updatedAt"
    from tasks task join workflows workflow on workflow.id = task.workflow_id
   where task.at_gate and ${TASK_IS_OPEN} and ${IS_FROM_OFFICE} and task.step_entered_at < now() - ${secs('$1')}
     and exists (select from workflow_step_participants seat where seat.step_id = task.step_id and ${SEAT_IS_NEEDED} and ${seatHolds('task.id')})`;
export const AT_GATES = `${AT_GATE} and ${after('task.step_entered_at', 'task.id', '$2')} and ($3::uuid is null or task.workspace_id = $3)
   order by task.step_entered_at, task.id limit $4`;
const AT_GATE_AGAIN = `${AT_GATE} and task.id = $2`;

const SEATS = `
  select task.id as task_id, seat.id, coalesce(agent.name, person.name) as name, seat.role, seat.agent_id as "agentId",
         seat.user_id as "userId", seat.decision_required as "decisionRequired"
    from unnest($1::uuid[], $2::uuid[]) as task (id, step_id)
    join workflow_step_participants seat on seat.step_id = task.step_id and ${seatHolds('task.id')}
    left join agent_instances agent on agent.id = seat.agent_id
    left join users person on person.id = seat.user_id
   order by seat.id`;

const DECISIONS = `
  select made.task_id, made.agent_id as "agentId", made.user_id as "userId", made.superseded_at is not null as "isSuperseded"
    from unnest($1::uuid[], $2::uuid[]) as task (id, step_id)
    join task_step_decisions made on made.task_id = task.id and made.step_id = task.step_id`;

/** Each by an index of its own; `= any` of both states at once would read every run of a busy task. */
const IN_FLIGHT = `
  select task.id from unnest($1::uuid[]) as task (id)
   where exists (select from runs r where r.task_id = task.id and r.status in ('queued', 'scheduled_retry'))
      or exists (select from runs r where r.task_id = task.id and r.status = 'running')`;

const QUIET_SINCE = `coalesce(r.last_content_at, r.started_at)`;
const QUIET = `
  select ${place(QUIET_SINCE, 'r.id')} as place, r.workspace_id as "workspaceId", r.task_id as "taskId", r.agent_id as "agentId",
         r.session_id as "sessionId", r.id as "runId", r.generation, coalesce(r.awaits_permission, false) as "awaitsPermission",
         case when r.evidence_at > now() - ${secs('$1')} then ${since(QUIET_SINCE)} end as "quietMs",
         case when r.evidence_at > now() - ${secs('$1')} then ${EVIDENCE} else ${NOTHING} end as evidence
    from runs r join task_sessions session on session.id = r.session_id
   where r.status = 'running' and r.started_at is not null and r.stop_requested_at is null
     and session.state = 'RUNNING' and not session.is_passthrough`;
/** Without evidence for as long as evidence is believed: unknown, to be counted. A turn that has only just begun is neither. */
const QUIET_PAGE = `${QUIET}
     and (${QUIET_SINCE} < now() - ${secs('$2')} or coalesce(r.evidence_at, r.claimed_at) < now() - ${secs('$1')})
     and ${after(QUIET_SINCE, 'r.id', '$3')} and ($4::uuid is null or r.workspace_id = $4) order by ${QUIET_SINCE}, r.id limit $5`;
const QUIET_AGAIN = `${QUIET} and r.id = $2`;

/** Dates travel in JSON as text. */
const withDates = <Row extends { readonly evidence: { readonly lastContentAt: unknown } }>(row: Row): Row => ({
  ...row,
  evidence: { ...row.evidence, lastContentAt: row.evidence.lastContentAt === null ? null : new Date(row.evidence.lastContentAt as string) },
});

@Injectable()
export class SignalledSessionRows extends SignalledSessions {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
  ) {
    super();
  }

  override async list({ after: from, take, workspaceId }: Page, olderThanMs: number, db?: Reading): Promise<SignalledSession[]> {
    const believedMs = this.settings.OFFICE_LEASE_SEC * 1_000;
    const parameters = [believedMs, olderThanMs, from, workspaceId, take];
    return (await (db ?? outside(this.unitOfWork)).prepared<SignalledSession>(SIGNALLED_PAGE, parameters)).map(withDates);
  }

  override async again(sessionId: string, db: Reading): Promise<SignalledSession | null> {
    const [row] = await db.prepared<SignalledSession>(SIGNALLED_AGAIN, [this.settings.OFFICE_LEASE_SEC * 1_000, sessionId]);
    return row === undefined ? null : withDates(row);
  }
}

@Injectable()
export class TaskAtGateRows extends TasksAtGates {
  constructor(private readonly unitOfWork: UnitOfWork) {
    super();
  }

  override list({ after: from, take, workspaceId }: Page, longerThanMs: number, db?: Reading): Promise<TaskAtGate[]> {
    return (db ?? outside(this.unitOfWork)).prepared<TaskAtGate>(AT_GATES, [longerThanMs, from, workspaceId, take]);
  }

  override async again(taskId: string, longerThanMs: number, db: Reading): Promise<TaskAtGate | null> {
    const [row] = await db.prepared<TaskAtGate>(AT_GATE_AGAIN, [longerThanMs, taskId]);
    return row ?? null;
  }
}

@Injectable()
export class StepParticipantRows extends StepParticipants {
  constructor(private readonly unitOfWork: UnitOfWork) {
    super();
  }

  override of(tasks: readonly TaskAtGate[], db?: Reading): Promise<ReadonlyMap<string, readonly SeatAtStep[]>> {
    return byTask<SeatAtStep>(db ?? outside(this.unitOfWork), SEATS, tasks);
  }
}

@Injectable()
export class StepDecisionRows extends StepDecisions {
  constructor(private readonly unitOfWork: UnitOfWork) {
    super();
  }

  override of(tasks: readonly TaskAtGate[], db?: Reading): Promise<ReadonlyMap<string, readonly DecisionAtStep[]>> {
    return byTask<DecisionAtStep>(db ?? outside(this.unitOfWork), DECISIONS, tasks);
  }
}

@Injectable()
export class RunInFlightRows extends RunsInFlight {
  constructor(private readonly unitOfWork: UnitOfWork) {
    super();
  }

  override async of(tasks: readonly TaskAtGate[], db?: Reading): Promise<ReadonlySet<string>> {
    const rows = await (db ?? outside(this.unitOfWork)).prepared<{ id: string }>(IN_FLIGHT, [tasks.map(({ taskId }) => taskId)]);
    return new Set(rows.map(({ id }) => id));
  }
}

@Injectable()
export class QuietTurnRows extends QuietTurns {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly settings: OfficeSettings,
  ) {
    super();
  }

  override async list({ after: from, take, workspaceId }: Page, longerThanMs: number, db?: Reading): Promise<QuietTurn[]> {
    const parameters = [this.settings.OFFICE_LEASE_SEC * 1_000, longerThanMs, from, workspaceId, take];
    return (await (db ?? outside(this.unitOfWork)).prepared<QuietTurn>(QUIET_PAGE, parameters)).map(withDates);
  }

  override async again(runId: string, db: Reading): Promise<QuietTurn | null> {
    const [row] = await db.prepared<QuietTurn>(QUIET_AGAIN, [this.settings.OFFICE_LEASE_SEC * 1_000, runId]);
    return row === undefined ? null : withDates(row);
  }
}

async function byTask<Row>(db: Reading, sql: string, tasks: readonly TaskAtGate[]): Promise<ReadonlyMap<string, readonly Row[]>> {
  const rows = await db.prepared<Row & { task_id: string }>(sql, [tasks.map(({ taskId }) => taskId), tasks.map(({ stepId }) => stepId)]);
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const known = found.get(row.task_id);
    if (known === undefined) found.set(row.task_id, [row]);
    else known.push(row);
  }
  return found;
}
