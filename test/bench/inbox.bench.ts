import { DataSource } from 'typeorm';
import { AgentRepository } from '../../src/agents/agent.repository.js';
import { AgentService } from '../../src/agents/agent.service.js';
import { Overview } from '../../src/dashboard/overview.service.js';
import { Timeline } from '../../src/dashboard/timeline.service.js';
import { databaseOptions } from '../../src/database-options.js';
import { InboxAgentReadings } from '../../src/inbox/inbox-agent-readings.js';
import { InboxReads } from '../../src/inbox/inbox-reads.service.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { Nudges } from '../../src/platform/database/nudges.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { newId } from '../../src/platform/ids.js';
import { WorkflowRepository } from '../../src/workflow/workflow.repository.js';
import { WorkflowService } from '../../src/workflow/workflow.service.js';
import { aLongHistory, manyDismissedFailures, manyOpenFailures } from '../support/many-rows.js';
import { percentile, type Bench, type Figure } from './figures.js';

const AGENTS = 200;
const DISMISSED = 1_000_000;
const OPEN = 500;
const ENTRIES = 10_000;

/** A workspace with a million failures that were dealt with, a few that are open, 200 agents, and a task with a long history. */
async function furnish(db: DataSource, unitOfWork: UnitOfWork, size: number): Promise<{ workspaceId: string; taskId: string }> {
  const [workspaceId, taskId, busyTaskId] = [newId(), newId(), newId()];
  const agentIds = Array.from({ length: AGENTS }, newId);
  await unitOfWork.run(workspaceId, async (tx) => {
    await tx.query(`insert into workspaces (id, name, task_prefix) values ($1, 'Acme', 'OFF')`, [workspaceId]);
    await tx.query(`insert into workspace_settings (workspace_id) values ($1)`, [workspaceId]);
    await tx.query(`insert into office_event_counters (workspace_id) values ($1)`, [workspaceId]);
    await new WorkflowService(new WorkflowRepository()).furnish(tx, workspaceId);
    await tx.query(
      `insert into agent_instances (id, workspace_id, name, handle, role, adapter)
       select id, $1, 'Agent ' || n, 'agent-' || n, 'worker', 'mock' from unnest($2::uuid[]) with ordinality as a (id, n)`,
      [workspaceId, agentIds],
    );
    await tx.query(
      `insert into tasks (id, workspace_id, number, identifier, title, workflow_id, step_id, created_by_kind)
       select t.id, $1, t.n, 'OFF-' || t.n, 'Mend the door', s.workflow_id, s.id, 'user'
         from unnest($2::uuid[]) with ordinality as t (id, n)
        cross join (select * from workflow_steps where workspace_id = $1 order by position limit 1) s`,
      [workspaceId, [taskId, busyTaskId]],
    );
  });
  for (const agentId of agentIds) {
    await manyDismissedFailures(db, { workspaceId, agentId, taskId: busyTaskId }, Math.ceil((DISMISSED * size) / AGENTS));
  }
  for (const agentId of agentIds.slice(0, OPEN / 5)) await manyOpenFailures(db, { workspaceId, agentId, taskId: busyTaskId }, 5);
  await aLongHistory(db, { workspaceId, agentId: agentIds[0]!, taskId }, ENTRIES);
  await db.query('vacuum analyze');
  return { workspaceId, taskId };
}

async function p95(what: string, target: string, rounds: number, work: () => Promise<unknown>): Promise<Figure> {
  for (let n = 0; n < 20; n++) await work();
  const took: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const since = performance.now();
    await work();
    took.push(performance.now() - since);
  }
  return { what: `${what}, p95`, ours: percentile(took, 0.95), unit: 'ms', target };
}

/** What people triage by, asked of the rooms themselves: no HTTP, so that a figure is the view's and not the door's. */
export const inboxBench: Bench = {
  name: 'inbox',
  async run(place): Promise<Figure[]> {
    const db = await new DataSource(databaseOptions(await place.database(), { statementTimeoutMs: 0 })).initialize();
    try {
      const unitOfWork = new UnitOfWork(db, new Nudges(db, new SystemClock()), new SystemClock());
      const { workspaceId, taskId } = await furnish(db, unitOfWork, place.size);
      const inbox = new InboxReads(unitOfWork);
      const overview = new Overview(unitOfWork, new AgentService(new AgentRepository(), new InboxAgentReadings()), inbox);
      const timeline = new Timeline(unitOfWork);
      const rounds = Math.max(20, Math.round(200 * place.size));
      return [
        await p95(`inbox list, ${OPEN} open`, 'under 10', rounds, () => inbox.list(workspaceId, { state: 'open', limit: 50 })),
        await p95('inbox count', 'under 10', rounds, () => inbox.count(workspaceId)),
        await p95('inbox list, resolved', 'under 10', rounds, () => inbox.list(workspaceId, { state: 'resolved', limit: 50 })),
        await p95(`summaries of ${AGENTS} agents`, 'under 50', rounds, () => overview.summaries(workspaceId)),
        await p95(`timeline of ${ENTRIES} entries, first page`, 'under 20', rounds, () =>
          timeline.page(workspaceId, taskId, { limit: 50 }),
        ),
      ];
    } finally {
      await db.destroy();
    }
  },
};
