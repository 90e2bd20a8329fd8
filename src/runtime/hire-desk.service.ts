import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { capabilitiesOf } from '../access/domain/capabilities.js';
import type { AgentPermissions, AgentRole } from '../access/domain/capabilities.js';
import { mayGrant, type Granter } from '../access/domain/granting.js';
import type { RunIdentity } from '../access/domain/run-access.js';
import { AgentDirectory } from '../agents/agent-directory.service.js';
import type { WholeAgentRow } from '../agents/agent.repository.js';
import { AgentService } from '../agents/agent.service.js';
import type { Adapter } from '../agents/domain/adapter-config.js';
import { Approvals } from '../inbox/approvals.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import type { CreateAgentBody } from './runtime.dto.js';

export interface Hired {
  readonly agentId: string;
  /** Null: it works already. */
  readonly approvalId: string | null;
}

/** What agents do to the staff. Every method is a part of the caller's transaction, which holds the caller's run. */
@Injectable()
export class HireDesk {
  constructor(
    private readonly directory: AgentDirectory,
    private readonly agents: AgentService,
    private readonly approvals: Approvals,
  ) {}

  /** What an agent may hand on: what its run was given and it would be given now as well, for a grant outlives the run. */
  async granter(tx: Tx, run: RunIdentity): Promise<Granter & { readonly adapter: Adapter }> {
    const [now] = await tx.query<{ role: AgentRole; permissions: AgentPermissions; adapter: Adapter }>(
      `select role, permissions, adapter from agent_instances where workspace_id = $1 and id = $2`,
      [run.workspaceId, run.agentId],
    );
    const present = capabilitiesOf(now!.role, now!.permissions);
    const holds = run.capabilities.filter((capability) => present.includes(capability));
    return { id: run.agentId, role: run.role, holds, adapter: now!.adapter };
  }

  /** `always_asks`: a person decides even where the workspace lets agents hire by themselves. */
  async hire(tx: Tx, run: RunIdentity, body: CreateAgentBody, mode: 'as_the_workspace_says' | 'always_asks'): Promise<Hired> {
    const { reason, ...wanted } = body;
    const after = { role: body.role, holds: capabilitiesOf(body.role, body.permissions) };
    const granter = await this.granter(tx, run);
    if (!mayGrant(granter, { before: null, after })) throw new OfficeError('capability_denied', { grants: after.holds });
    const asks = mode === 'always_asks' || (await this.asksForApproval(tx));
    const agentId = await this.directory.enlist(
      tx,
      run.workspaceId,
      { ...wanted, adapter: body.adapter ?? granter.adapter },
      { isInstanceAdmin: false, lifecycle: asks ? 'pending_approval' : 'active' },
    );
    if (!asks) return { agentId, approvalId: null };
    const agent = await this.agents.lock(tx, run.workspaceId, agentId);
    const approvalId = await this.approvals.open(tx, {
      type: 'hire_agent',
      agentId: run.agentId,
      runId: run.runId,
      taskId: run.taskId,
      target: { type: 'agent', id: agentId },
      reason: reason ?? `${agent.name}, ${agent.role}`,
      payload: shown(agent),
      shownHash: hashOfShown(agent),
    });
    return { agentId, approvalId };
  }

  /** As for every other row an agent names: what is not here is out of its scope. */
  async assertColleague(tx: Tx, agentId: string): Promise<void> {
    const rows = await tx.query(`select 1 from agent_instances where workspace_id = $1 and id = $2`, [tx.workspaceId, agentId]);
    if (rows.length === 0) throw new OfficeError('workspace_out_of_scope', { agent_id: agentId });
  }

  private async asksForApproval(tx: Tx): Promise<boolean> {
    const [settings] = await tx.query<{ asks: boolean }>(
      `select require_approval_for_new_agents as asks from workspace_settings where workspace_id = $1`,
      [tx.workspaceId],
    );
    return settings?.asks !== false;
  }
}

/** What a person who decides on a hire is shown of it. */
const shown = (agent: WholeAgentRow): object => ({
  name: agent.name,
  handle: agent.handle,
  reports_to: agent.reports_to,
  ...decisive(agent),
});

/** The part of it that may not change unseen until it is approved. How it is launched is an admin's own to set meanwhile. */
const decisive = ({ role, adapter, permissions, instructions }: WholeAgentRow) => ({
  role,
  adapter,
  permissions: { allow: permissions.allow ?? [], deny: permissions.deny ?? [] },
  capabilities: capabilitiesOf(role, permissions),
  instructions,
});

export const hashOfShown = (agent: WholeAgentRow): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(decisive(agent)))
    .digest();
