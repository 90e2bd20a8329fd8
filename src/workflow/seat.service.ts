import { Injectable } from '@nestjs/common';
import { AgentService } from '../agents/agent.service.js';
import type { Tx } from '../platform/database/tx.js';
import { OfficeError } from '../platform/errors/office-error.js';
import type { Holder, SeatPlan } from './domain/seat.js';
import { SeatRepository, type SeatPlace } from './seat.repository.js';

/** Who sits where. Every method is a part of the caller's transaction. */
@Injectable()
export class SeatService {
  constructor(
    private readonly seats: SeatRepository,
    private readonly agents: AgentService,
  ) {}

  /** Asked before and after, so that an agent that is archived meanwhile is either refused or sees its seat. */
  async put(tx: Tx, place: SeatPlace, seat: SeatPlan): Promise<void> {
    await this.assertKnown(tx, seat);
    await this.seats.put(tx, place, seat);
    if (seat.agentId !== null) await this.agents.assertAssignable(tx, tx.workspaceId!, seat.agentId);
  }

  remove(tx: Tx, place: SeatPlace, holder: Holder): Promise<boolean> {
    return this.seats.remove(tx, place, holder);
  }

  /** The seats of the step itself, for every task that comes there. */
  async replaceOfStep(tx: Tx, stepId: string, seats: readonly SeatPlan[]): Promise<void> {
    for (const seat of seats) await this.assertKnown(tx, seat);
    await this.seats.replaceOfStep(tx, stepId, seats);
  }

  removeAllOf(tx: Tx, stepIds: readonly string[]): Promise<void> {
    return this.seats.removeAllOf(tx, stepIds);
  }

  private async assertKnown(tx: Tx, { agentId, userId }: Holder): Promise<void> {
    if (agentId !== null) await this.agents.assertAssignable(tx, tx.workspaceId!, agentId);
    if (userId !== null && !(await this.seats.isMember(tx, tx.workspaceId!, userId))) {
      throw new OfficeError('not_found', { what: 'user', id: userId });
    }
  }
}
