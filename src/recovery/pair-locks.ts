import type { AgentStatus } from '../agents/domain/agent-status.js';
import type { Tx } from '../platform/database/tx.js';
import { SEAT_DECIDES, seatHolds } from '../workflow/domain/seat.js';
import type { TaskNow } from './domain/skip.js';

/** An agent and what it works on: a task, or without one a scope. */
export type Pair = { readonly agentId: string; readonly taskId: string } | { readonly agentId: string; readonly scope: string };

export const keyOf = (pair: Pair): string => `${pair.agentId} ${'taskId' in pair ? pair.taskId : pair.scope}`;
export const taskOf = (pair: Pair): string | null => ('taskId' in pair ? pair.taskId : null);
/** A run names its pair by either column. */
export const pairOf = (run: { readonly agent_id: string; readonly task_id: string | null; readonly scope: string | null }): Pair =>
  run.task_id === null ? { agentId: run.agent_id, scope: run.scope! } : { agentId: run.agent_id, taskId: run.task_id };

export interface InFlightRun {
  readonly id: string;
  readonly status: 'queued' | 'scheduled_retry' | 'running';
  readonly stopping: boolean;
}

export interface HeldAgent {
  readonly id: string;
  readonly name: string;
  readonly lifecycle: Exclude<AgentStatus, 'paused' | 'working' | 'idle'> | 'active';
  readonly pauseReason: string | null;
  readonly pauseSource: 'auto' | 'person' | null;
  readonly currentPauseId: string | null;
}

/** Everything that a recovery of these pairs may touch, held until the end of the transaction. */
export interface Held {
  task(pair: Pair): TaskNow | null;
  inFlight(pair: Pair): readonly InFlightRun[];
  agent(agentId: string): HeldAgent;
}

const AGENT = `id, name, lifecycle, pause_reason as "pauseReason", pause_source as "pauseSource", current_pause_id as "currentPauseId"`;

/**
 * Takes the locks of many pairs in the order that holds everywhere: all tasks by id, then runs, sessions and agents, each by
 * id (contract 5). `sessionIds`: of runs without a task, whose sessions no pair leads to.
 */
export async function holdPairs(tx: Tx, pairs: readonly Pair[], sessionIds: readonly string[] = []): Promise<Held> {
  const agentIds = pairs.map(({ agentId }) => agentId);
  const taskIds = pairs.map(taskOf);
  const scopes = pairs.map((pair) => ('scope' in pair ? pair.scope : null));
  const tasks = await tx.query<TaskNow & { id: string }>(
    `select id, state, archived_at is not null as archived, deleted_at is not null as deleted, assignee_agent_instance_id as "assigneeId",
            array(select seat.agent_id from workflow_step_participants seat
                   where seat.step_id = tasks.step_id and seat.agent_id is not null and ${SEAT_DECIDES} and ${seatHolds('tasks.id')}) as deciders
       from tasks where workspace_id = $1 and id = any($2::uuid[]) order by id for no key update`,
    [tx.workspaceId, taskIds],
  );
  const runs = await tx.query<InFlightRun & { agent_id: string; task_id: string | null; scope: string | null }>(
    `select id, agent_id, task_id, scope, status, stop_requested_at is not null as stopping from runs
      where workspace_id = $1 and status in ('queued', 'scheduled_retry', 'running') and id in (
        select r.id from unnest($2::uuid[], $3::uuid[], $4::text[]) as pair (agent_id, task_id, scope)
          join runs r on r.agent_id = pair.agent_id and r.status in ('queued', 'scheduled_retry')
                     and (r.task_id = pair.task_id or r.scope = pair.scope)
        union all
        select r.id from unnest($2::uuid[], $3::uuid[], $4::text[]) as pair (agent_id, task_id, scope)
          join runs r on r.agent_id = pair.agent_id and r.status = 'running' and (r.task_id = pair.task_id or r.scope = pair.scope))
      order by id for no key update`,
    [tx.workspaceId, agentIds, taskIds, scopes],
  );
  await tx.query(
    `select id from task_sessions
      where workspace_id = $1 and id in (
        select unnest($4::uuid[])
        union all
        select s.id from unnest($2::uuid[], $3::uuid[]) as pair (agent_id, task_id)
          join task_sessions s on s.task_id = pair.task_id and s.agent_id = pair.agent_id and s.state not in ('COMPLETED', 'CANCELLED'))
      order by id for no key update`,
    [tx.workspaceId, agentIds, taskIds, sessionIds],
  );
  const agents = await holdAgents(tx, agentIds);
  const taskById = new Map(tasks.map((task) => [task.id, task]));
  const runsByPair = new Map<string, InFlightRun[]>();
  for (const run of runs) {
    const key = keyOf(pairOf(run));
    runsByPair.set(key, [...(runsByPair.get(key) ?? []), run]);
  }
  return {
    task: (pair) => ('taskId' in pair ? taskById.get(pair.taskId)! : null),
    inFlight: (pair) => runsByPair.get(keyOf(pair)) ?? [],
    agent: (agentId) => agents.get(agentId)!,
  };
}

/**
 * Whoever dismisses failure items holds the agent, so that a pause being decided and a dismissal cannot pass each other.
 * By id, whoever asks for them.
 */
export async function holdAgents(tx: Tx, agentIds: readonly string[]): Promise<ReadonlyMap<string, HeldAgent>> {
  const agents = await tx.query<HeldAgent>(
    `select ${AGENT} from agent_instances where workspace_id = $1 and id = any($2::uuid[]) order by id for no key update`,
    [tx.workspaceId, agentIds],
  );
  return new Map(agents.map((agent) => [agent.id, agent]));
}
