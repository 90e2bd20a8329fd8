import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { AgentService } from '../agents/agent.service.js';
import { AgentSwitches } from '../agents/agent-switches.service.js';
import { Approvals, type ApprovalRow, type Decision } from '../inbox/approvals.service.js';
import { wireInstant } from '../platform/database/exact-instant.js';
import { outside, type Reading } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import { pageFrom } from '../platform/http/page.view.js';
import { WakeService } from '../runs/wake.service.js';
import type { ApprovalQuery } from './approval.dto.js';
import type { ApprovalPage, ApprovalView } from './approval.view.js';
import { hashOfShown } from './hire-desk.service.js';

const VIEW = `
  select p.id, p.workspace_id, p.type, p.status, jsonb_build_object('id', a.id, 'name', a.name) as agent, p.run_id,
         case when t.id is not null then jsonb_build_object('id', t.id, 'identifier', t.identifier, 'title', t.title) end as task,
         p.target_type, p.target_id, p.reason, p.payload, ${wireInstant('p.requested_at')} as requested_at,
         ${wireInstant('p.decided_at')} as decided_at,
         case when u.id is not null then jsonb_build_object('id', u.id, 'name', u.name) end as decided_by, p.decision_note
    from approvals p
    join agent_instances a on a.id = p.agent_id
    left join tasks t on t.id = p.task_id
    left join users u on u.id = p.decided_by`;

/** Where people grant what agents asked for, or do not. */
@Injectable()
export class ApprovalDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commands: IdempotentCommands,
    private readonly approvals: Approvals,
    private readonly agents: AgentService,
    private readonly switches: AgentSwitches,
    private readonly wakes: WakeService,
  ) {}

  /** The newest first. */
  async list(workspaceId: string, { limit, cursor, status }: ApprovalQuery): Promise<ApprovalPage> {
    const rows = await this.unitOfWork.read<ApprovalView>(
      `${VIEW} where p.workspace_id = $1 and ($2::uuid is null or p.id < $2) and ($3::text is null or p.status = $3) order by p.id desc limit $4`,
      [workspaceId, decodeCursor(cursor), status ?? null, limit + 1],
    );
    return pageFrom(
      rows,
      limit,
      ({ id }) => id,
      (row) => row,
    );
  }

  get(workspaceId: string, id: string): Promise<ApprovalView> {
    return this.viewIn(outside(this.unitOfWork), workspaceId, id);
  }

  async viewIn(db: Reading, workspaceId: string, id: string): Promise<ApprovalView> {
    const [row] = await db.query<ApprovalView>(`${VIEW} where p.workspace_id = $1 and p.id = $2`, [workspaceId, id]);
    if (row === undefined) throw new OfficeError('not_found');
    return row;
  }

  /** One decision, whoever is first. Whoever asked is woken and told. */
  decide(call: Call, workspaceId: string, id: string, decision: Decision, note: string | undefined): Promise<ApprovalView> {
    return this.commands.once(call, workspaceId, async (tx) => {
      const approval = await this.approvals.find(tx, id);
      if (approval === null) throw new OfficeError('not_found');
      await holdAgents(tx, approval);
      await this.approvals.decide(tx, approval, decision, { userId: call.person.userId, note: note ?? null });
      if (approval.type === 'hire_agent') await this.endProbation(tx, approval, decision);
      await this.wakeRequester(tx, approval, decision, note, call.person.userId);
      return this.viewIn(tx, workspaceId, id);
    });
  }

  /** It works with exactly the permissions that were shown, or not at all. One that was archived meanwhile has no approval left. */
  private async endProbation(tx: Tx, approval: ApprovalRow, decision: Decision): Promise<void> {
    const agent = await this.agents.lock(tx, tx.workspaceId!, approval.target_id!);
    if (decision === 'approved' && !hashOfShown(agent).equals(approval.shown_hash!))
      throw new OfficeError('hire_changed', { agent_id: agent.id });
    const moved = await this.switches.endProbation(tx, agent, decision === 'approved' ? 'active' : 'stopped');
    if (!moved) throw new OfficeError('illegal_transition', { from: agent.lifecycle, to: decision === 'approved' ? 'active' : 'stopped' });
  }

  /** On its task, as long as that is open; else by itself. A requester that takes no wakes leaves the refusal in its list. */
  private async wakeRequester(
    tx: Tx,
    { id, agent_id, task_id, reason }: ApprovalRow,
    decision: Decision,
    note: string | undefined,
    userId: string,
  ): Promise<void> {
    const said = [`Your request was ${decision}: ${reason}`, note].filter((part) => part !== undefined).join('\n\n');
    const wake = { agentId: agent_id, reason: 'approval_resolved', actor: { kind: 'user', id: userId }, note: said } as const;
    if (task_id !== null && (await this.wakes.wouldTake(tx, { ...wake, on: { taskId: task_id } }))) {
      await this.wakes.wake(tx, { ...wake, on: { taskId: task_id } });
    } else await this.wakes.wake(tx, { ...wake, on: { scope: `approval:${id}` } });
  }
}

/** The requester and the one to be hired, by id: agents come before approvals. */
async function holdAgents(tx: Tx, { agent_id, target_type, target_id }: ApprovalRow): Promise<void> {
  await tx.query(`select id from agent_instances where workspace_id = $1 and id = any($2::uuid[]) order by id for no key update`, [
    tx.workspaceId,
    target_type === 'agent' ? [agent_id, target_id] : [agent_id],
  ]);
}
