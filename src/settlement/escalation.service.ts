import { Injectable } from '@nestjs/common';
import { THE_SYSTEM } from '../platform/actor.js';
import type { Tx } from '../platform/database/tx.js';
import { noteRun } from '../runs/run-notes.js';
import { WakeService } from '../runs/wake.service.js';
import { escalationNote } from './domain/escalation-note.js';
import type { LockedRun, SettledRun, StoredDiagnosis } from './settlement.repository.js';

interface Coordinator {
  readonly target: string | null;
  readonly id: string | null;
}

const COORDINATOR = `
  select st.on_agent_error ->> 'target' as target, c.id
    from tasks t join workflow_steps st on st.id = t.step_id
    left join lateral (
      select a.id from agent_instances a
       where a.workspace_id = t.workspace_id and a.lifecycle <> 'archived'
         and (a.id::text = st.on_agent_error ->> 'target' or (st.on_agent_error ->> 'target' = 'ceo' and a.role = 'ceo'))
       order by a.lifecycle = 'active' desc, a.id limit 1) c on true
   where t.workspace_id = $1 and t.id = $2`;

/** Tells the coordinator of a step that an agent failed on it (contract 9): one stored wake per failed run, never to the failed agent. */
@Injectable()
export class Escalation {
  constructor(private readonly wakes: WakeService) {}

  async store(tx: Tx, run: SettledRun, { agent, task }: LockedRun, diagnosis: StoredDiagnosis | null, summary: string): Promise<void> {
    if (run.taskId === null || task === null) return;
    const [coordinator] = await tx.query<Coordinator>(COORDINATOR, [tx.workspaceId, run.taskId]);
    if (coordinator === undefined || coordinator.target === null) return;
    if (coordinator.id === null || coordinator.id === run.agentId) {
      const reason = coordinator.id === null ? 'no_coordinator' : 'coordinator_failed';
      await noteRun(tx, run.runId, 'escalation.skipped', 'warn', { reason, target: coordinator.target });
      return;
    }
    await this.wakes.store(tx, {
      agentId: coordinator.id,
      on: { taskId: run.taskId },
      reason: 'agent_error',
      actor: THE_SYSTEM,
      key: `agent_error:${run.runId}`,
      causedByRunId: run.runId,
      note: escalationNote({
        agent: { id: agent.id, name: agent.name },
        task: { id: task.id, identifier: task.identifier },
        run,
        diagnosis,
        summary,
      }),
    });
  }
}
