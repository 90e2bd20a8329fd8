import pg from 'pg';
import { newId } from '../../src/platform/ids.js';
import { OFFICE_WORKFLOW } from '../../src/workflow/domain/office-workflow.js';

export interface Pair {
  readonly workspaceId: string;
  readonly agentId: string;
  readonly taskId: string;
}

/** Workspaces of agents with tasks of their own, as rows. Answers the pairs, workspaces in turn. */
export async function furnish(
  url: string,
  about: { workspaces: number; agents: number; tasks: number; concurrent: number; paused?: boolean },
): Promise<Pair[]> {
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  const pairs: Pair[][] = [];
  try {
    for (let w = 0; w < about.workspaces; w++) {
      const [workspaceId, workflowId] = [newId(), newId()];
      const steps = OFFICE_WORKFLOW.steps.map((step, position) => ({ ...step, position, id: newId() }));
      await db.query(`insert into workspaces (id, name, task_prefix) values ($1, 'Bench', 'B')`, [workspaceId]);
      await db.query(`insert into workspace_settings (workspace_id) values ($1)`, [workspaceId]);
      await db.query(`insert into office_event_counters (workspace_id) values ($1)`, [workspaceId]);
      await db.query(`insert into workflows (id, workspace_id, name, style, is_office_default) values ($1, $2, 'Office', 'office', true)`, [
        workflowId,
        workspaceId,
      ]);
      for (const { id, position, name, kind, requiresSignal } of steps) {
        await db.query(
          `insert into workflow_steps (id, workspace_id, workflow_id, position, name, kind, requires_signal) values ($1, $2, $3, $4, $5, $6, $7)`,
          [id, workspaceId, workflowId, position, name, kind, requiresSignal],
        );
      }
      const agents = Array.from({ length: about.agents }, () => newId());
      await db.query(
        `insert into agent_instances (id, workspace_id, name, handle, role, adapter, max_concurrent_sessions, pause_reason, pause_source)
         select id, $1, 'Bench', 'b' || replace(id::text, '-', ''), 'worker', 'mock', $3,
                case when $4 then 'bench' end, case when $4 then 'person' end from unnest($2::uuid[]) as id`,
        [workspaceId, agents, about.concurrent, about.paused ?? false],
      );
      const mine = Array.from({ length: about.tasks }, (_, n) => ({ workspaceId, agentId: agents[n % agents.length]!, taskId: newId() }));
      await db.query(
        `insert into tasks (id, workspace_id, number, identifier, title, workflow_id, step_id, assignee_agent_instance_id, created_by_kind)
         select t.id, $1, t.n, 'B-' || t.n, 'Bench', $2, $3, t.agent, 'system'
           from unnest($4::uuid[], $5::uuid[]) with ordinality as t(id, agent, n)`,
        [workspaceId, workflowId, steps[0]!.id, mine.map(({ taskId }) => taskId), mine.map(({ agentId }) => agentId)],
      );
      pairs.push(mine);
    }
  } finally {
    await db.end();
  }
  return Array.from({ length: about.tasks }, (_, n) => pairs.map((mine) => mine[n]!)).flat();
}
