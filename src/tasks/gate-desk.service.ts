import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { IdempotentCommands } from '../access/idempotent-commands.service.js';
import { holdsScope } from '../access/domain/route-access.js';
import type { Actor } from '../platform/actor.js';
import { outside } from '../platform/database/reading.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { seatPlan } from '../workflow/workflow.dto.js';
import { assertApproved } from './approvals-pending.js';
import type { AdvanceBody, DecideBody, PutParticipantBody, RemoveParticipantBody } from './gate.dto.js';
import { GateRepository } from './gate.repository.js';
import { viewParticipants, type DecisionView, type ParticipantsView } from './gate.view.js';
import { TaskGate } from './task-gate.service.js';
import { TaskReads } from './task-reads.repository.js';
import { TaskViews } from './task-views.service.js';
import type { TaskView } from './task.view.js';

/** Where people decide on tasks, say who else does, and move tasks on by hand. */
@Injectable()
export class GateDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commands: IdempotentCommands,
    private readonly gate: TaskGate,
    private readonly gates: GateRepository,
    private readonly reads: TaskReads,
    private readonly views: TaskViews,
  ) {}

  async participants(workspaceId: string, taskId: string): Promise<ParticipantsView> {
    const db = outside(this.unitOfWork);
    const task = await this.reads.find(db, workspaceId, taskId);
    if (!task) throw new OfficeError('not_found');
    return viewParticipants(await this.gates.walkOf(db, task));
  }

  async putParticipant(workspaceId: string, taskId: string, body: PutParticipantBody, actor: Actor): Promise<ParticipantsView> {
    await this.unitOfWork.run(workspaceId, (tx) =>
      this.gate.putSeat(tx, workspaceId, taskId, body.step_id.toLowerCase(), seatPlan(body), actor),
    );
    return this.participants(workspaceId, taskId);
  }

  async removeParticipant(workspaceId: string, taskId: string, body: RemoveParticipantBody, actor: Actor): Promise<ParticipantsView> {
    const holder = { agentId: body.agent_id?.toLowerCase() ?? null, userId: body.user_id?.toLowerCase() ?? null };
    await this.unitOfWork.run(workspaceId, (tx) =>
      this.gate.removeSeat(tx, workspaceId, taskId, body.step_id.toLowerCase(), holder, actor),
    );
    return this.participants(workspaceId, taskId);
  }

  /** Part of an idempotent command. */
  async decide(tx: Tx, workspaceId: string, taskId: string, body: DecideBody, call: Call): Promise<DecisionView> {
    const { userId } = call.person;
    const mayStandIn = holdsScope(call.person.scopes, 'admin') && (await this.gates.isAdmin(tx, workspaceId, userId));
    const by = { actor: { kind: 'user', id: userId } as const, mayStandIn, seatId: body.seat_id ?? null };
    const { seat, decision } = await this.gate.decide(tx, workspaceId, taskId, { decision: body.decision, note: body.note ?? null }, by);
    const { state, step } = (await this.reads.find(tx, workspaceId, taskId))!;
    return {
      id: decision.id,
      task_id: taskId,
      step_id: seat.stepId,
      seat_id: seat.id,
      decision: decision.decision,
      note: decision.note,
      decided_at: decision.decided_at.toISOString(),
      state,
      step,
    };
  }

  /** A task that may not be done yet has gone to its approvers all the same: that is committed, then refused. */
  async advance(workspaceId: string, taskId: string, body: AdvanceBody, call: Call): Promise<TaskView> {
    const actor: Actor = { kind: 'user', id: call.person.userId };
    // Both are kept under an Idempotency-Key, so that a repetition is refused as the first was.
    const { view, missing } = await this.commands.once(call, workspaceId, async (tx) => ({
      missing: await this.gate.advance(tx, workspaceId, taskId, body.to_step_id ?? null, actor),
      view: await this.views.one(tx, workspaceId, taskId),
    }));
    assertApproved(missing);
    return view;
  }
}
