import { Injectable } from '@nestjs/common';
import type { Capability } from '../access/domain/capabilities.js';
import { AgentReactions } from '../agents/agent-reactions.js';
import { Approvals } from '../inbox/approvals.service.js';
import { Dismissals } from '../inbox/dismissals.service.js';
import { Interruptions } from '../inbox/interruptions.service.js';
import { MissingCapabilities } from '../inbox/missing-capabilities.service.js';
import type { Tx } from '../platform/database/tx.js';
import { RunStops } from '../runs/run-stops.service.js';
import { SessionService } from '../sessions/session.service.js';

/** What a change of an agent does to its runs, sessions and inbox items. */
@Injectable()
export class OfficeAgentReactions extends AgentReactions {
  constructor(
    private readonly stops: RunStops,
    private readonly sessions: SessionService,
    private readonly dismissals: Dismissals,
    private readonly interruptions: Interruptions,
    private readonly approvals: Approvals,
    private readonly missing: MissingCapabilities,
  ) {
    super();
  }

  override async unpaused(tx: Tx, { closedPauseId }: { readonly id: string; readonly closedPauseId: string | null }): Promise<void> {
    tx.nudge('work');
    if (closedPauseId === null) return;
    await this.dismissals.dismissPause(tx, closedPauseId);
    await this.dismissals.reopen(tx, closedPauseId);
  }

  override entitled(
    tx: Tx,
    { id, holds, by }: { readonly id: string; readonly holds: readonly Capability[]; readonly by: string | null },
  ): Promise<void> {
    return this.missing.settle(tx, id, holds, by);
  }

  override async archived(tx: Tx, { id }: { readonly id: string }): Promise<void> {
    await this.stops.cancelWaiting(tx, { agentId: id }, 'agent_archived');
    await this.stops.askToStop(tx, { agentId: id }, 'agent_archived');
    await this.dismissals.dismissFailures(tx, { agentId: id });
    const [agent] = await tx.query<{ current_pause_id: string | null }>(
      `select current_pause_id from agent_instances where workspace_id = $1 and id = $2`,
      [tx.workspaceId, id],
    );
    if (agent?.current_pause_id != null) await this.dismissals.dismissPause(tx, agent.current_pause_id);
    await this.approvals.withdraw(tx, id);
    await this.missing.withdraw(tx, id);
    await this.unassign(tx, id);
    await this.interruptions.resolveWhatIsOver(tx, { agentId: id });
  }

  override startedAgain(tx: Tx): Promise<void> {
    tx.nudge('work');
    return Promise.resolve();
  }

  private async unassign(tx: Tx, agentId: string): Promise<void> {
    const tasks = await tx.query<{ id: string }>(
      `update tasks set assignee_agent_instance_id = null, updated_at = now()
        where workspace_id = $1 and assignee_agent_instance_id = $2 and deleted_at is null returning id`,
      [tx.workspaceId, agentId],
    );
    for (const { id } of tasks) {
      tx.emit('office.task.updated', { task_id: id, fields: ['assignee_agent_instance_id'] });
      await this.sessions.retire(tx, tx.workspaceId!, { taskId: id, agentId });
    }
  }
}
