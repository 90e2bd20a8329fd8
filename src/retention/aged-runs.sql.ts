import { OPEN_FAILURE } from '../inbox/open-items.sql.js';

/** Somebody is at work in the session of run `r`, or is about to be. */
const IN_FLIGHT = `
  exists (select from task_sessions s where s.id = r.session_id and s.state in ('STARTING', 'RUNNING'))
  or exists (select from runs f where f.task_id = r.task_id and f.agent_id = r.agent_id and f.status in ('queued', 'scheduled_retry'))
  or exists (select from runs f where f.task_id = r.task_id and f.agent_id = r.agent_id and f.status = 'running')`;

/** Something about run `r` still waits for a person, by itself or as part of a pause, an interruption or a hold. */
const STILL_OPEN = `
  (${OPEN_FAILURE})
  or exists (select from interruption_runs n join interruptions x on x.id = n.interruption_id where n.run_id = r.id and x.resolved_at is null)
  or exists (select from agent_pauses p where p.workspace_id = r.workspace_id and p.agent_id = r.agent_id and p.closed_at is null
                and p.affected @> jsonb_build_array(jsonb_build_object('run_id', r.id)))
  or exists (select from missing_capabilities c where c.run_id = r.id and c.closed_at is null)
  or exists (select from provider_holds h where (h.run_id = r.id or h.first_run_id = r.id) and h.ended_at is null)`;

const IS_LAST_OF_PAIR = `
  not exists (select from runs n where n.task_id = r.task_id and n.agent_id = r.agent_id and n.id > r.id)
  and not exists (select from runs n where r.scope is not null and n.agent_id = r.agent_id and n.scope = r.scope and n.id > r.id)`;

/** Of run `r`: `$1` days after its end its bodies, or all of it, may go. */
const OVERDUE = `r.finished_at < now() - make_interval(days => $1)`;
const MAY_LOSE_BODIES = `r.bodies_kept and ${OVERDUE} and not (${IN_FLIGHT}) and not (${STILL_OPEN})`;
export const MAY_GO = `${OVERDUE} and not (${IN_FLIGHT}) and not (${STILL_OPEN}) and not (${IS_LAST_OF_PAIR})`;

/** A page of them, oldest first, of workspace `$4`; `$2` and `$3` are the end and the id of the last of the page before. */
const page = (condition: string): string => `
  select r.id, r.finished_at::text as finished_at from runs r
   where r.workspace_id = $4 and ${condition} and (r.finished_at, r.id) > ($2::timestamptz, $3::uuid)
   order by r.finished_at, r.id limit 100`;

export const WITH_OLD_BODIES = page(MAY_LOSE_BODIES);
export const TOO_OLD = page(MAY_GO);
