import { sqlList } from '../platform/database/sql-list.js';
import { IS_FROM_OFFICE } from '../tasks/domain/is-from-office.js';
import { liveStates } from './domain/session-state.js';

/** Sessions with what `IS_LIVE` asks of their tasks; aliases `session`, `task`, `workflow`. */
export const LIVE_SESSIONS = `task_sessions session
  left join tasks task on task.id = session.task_id
  left join workflows workflow on workflow.id = task.workflow_id`;

/** `isLiveSession` (domain/session-state.ts) as SQL, made of the same table. The first part is what an index can answer. */
export const IS_LIVE = `session.state in ('STARTING', 'RUNNING', 'WAITING_FOR_INPUT')
  and case when session.task_id is null or ${IS_FROM_OFFICE}
           then session.state in (${sqlList(liveStates(true))}) else session.state in (${sqlList(liveStates(false))}) end`;

/** How many live sessions an agent has: what makes it "working", wherever that is asked. `but` names sessions to leave out. */
export const liveSessionsOf = (agentId: string, but?: string): string =>
  `(select count(*)::int from ${LIVE_SESSIONS} where session.agent_id = ${agentId} and ${IS_LIVE}${but === undefined ? '' : ` and session.id <> all(${but})`})`;
