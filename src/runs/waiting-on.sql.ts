import { IS_OPEN_BLOCKER } from '../tasks/domain/open-blocker.js';
import { liveHostSql } from '../workspaces/live-host.sql.js';
import { breakerOpenSql } from './breaker.sql.js';
import { PROVIDER_LIMITED } from './provider-hold.sql.js';

export const RUN_PAIR = { agentId: 'r.agent_id', taskId: 'r.task_id', scope: 'r.scope' } as const;

/**
 * One text says why a waiting run waits: the claim takes what it calls `claimable`, the views show the rest. So a run can
 * never be shown as waiting for something that the claim does not wait for. Order and words: domain/waiting-on.ts.
 * Aliases: `r` a waiting run with `folder_host` (see FOLDER_HOST), `a` agent_instances, `w` workspaces.
 */
export interface WaitingOnPlace {
  /** Placeholder of the lease length in seconds: a host unseen for that long is offline. */
  readonly leaseSec: string;
  /** Placeholder of the claiming host's id; null in views, where any live host may come to claim. */
  readonly host: string | null;
  /** Placeholder of a uuid[]: tasks whose last process is still going down on the host that asks. */
  readonly busyTasks: string;
}

// clock_timestamp(), because whoever has just queued a run asks in the same transaction, whose now() is older than the run.
export function waitingOnSql({ leaseSec, host, busyTasks }: WaitingOnPlace): string {
  const live = liveHostSql(leaseSec);
  const fits = `${live} and (r.folder_host is null or r.folder_host = h.id)${host === null ? '' : ` and h.id = ${host}`}`;
  // A host that drains has what it takes, only no room any more.
  const eligible = `${fits} and not h.draining`;
  const folderElsewhere = host === null ? 'false' : `r.folder_host is distinct from ${host}`;
  return `case
    when w.stopped_at is not null or w.archived_at is not null then 'workspace_stopped'
    when a.lifecycle <> 'active' then 'agent_stopped'
    when a.pause_reason is not null then 'agent_paused'
    when (select s.state = 'FAILED' from task_sessions s
           where s.task_id = r.task_id and s.agent_id = r.agent_id and s.state not in ('COMPLETED', 'CANCELLED'))
      then 'session_failed'
    when ${breakerOpenSql(RUN_PAIR)} then 'breaker_open'
    when exists (
      select from task_blockers b join tasks blocker on blocker.id = b.blocker_id where b.task_id = r.task_id and ${IS_OPEN_BLOCKER})
      then 'task_blocked'
    when exists (
      select from runs p where p.status = 'running' and p.agent_id = r.agent_id
         and (p.task_id = r.task_id or (r.task_id is null and p.scope = r.scope)))
      then 'previous_run_running'
    when r.task_id = any(${busyTasks}) or exists (select from runs p where p.status = 'running' and p.task_id = r.task_id)
      or exists (select from task_folders f where f.task_id = r.task_id and f.removing_at is not null)
      then 'task_busy'
    when r.folder_host is not null and (${folderElsewhere} or not exists (select from hosts h where h.id = r.folder_host and ${live}))
      then 'host_offline'
    when not exists (
      select from hosts h where ${fits} and (a.adapter_config ? 'command' or a.adapter = any(h.adapters)))
      then 'adapter_missing'
    when ${PROVIDER_LIMITED} then 'provider_limited'
    when r.due_at > clock_timestamp() then 'retry_scheduled'
    when a.cooldown_sec > 0 and a.last_run_finished_at > now() - make_interval(secs => a.cooldown_sec) then 'cooling_down'
    when a.max_concurrent_sessions <= (select count(*) from runs p where p.agent_id = a.id and p.status = 'running')
      then 'agent_at_capacity'
    when not exists (
      select from hosts h where ${eligible}
         and h.max_executions > (select count(*) from runs p where p.status = 'running' and p.lease_host_id = h.id))
      then 'host_at_capacity'
    else 'claimable' end`;
}

/** The column `folder_host` of a waiting run: the machine its task's folder is on, or where its repository is, if there is either. */
export const FOLDER_HOST = `coalesce(
  (select f.host_id from task_folders f where f.task_id = r.task_id),
  (select p.host_id from tasks t join repositories p on p.id = t.repository_id where t.id = r.task_id)) as folder_host`;

/** A run waiting over 15 minutes moves up one class, never into human (contract 3). */
export const EFFECTIVE_CLASS = `case
  when r.wake_class > 1 and r.requested_at < now() - interval '15 minutes' then r.wake_class - 1 else r.wake_class end`;
