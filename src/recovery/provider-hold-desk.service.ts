import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { ProviderHolds } from '../inbox/provider-holds.service.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom, type Page } from '../platform/http/page.view.js';
import type { LiftedHoldView, ProviderHoldView } from './provider-hold.view.js';

type Row = Omit<ProviderHoldView, 'reset_at' | 'held_until' | 'opened_at'> & {
  readonly reset_at: Date;
  readonly held_until: Date;
  readonly opened_at: Date;
};

/** What people see of the holds on their providers, and how they lift one. */
@Injectable()
export class ProviderHoldDesk {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly holds: ProviderHolds,
  ) {}

  /** The open ones, oldest first. */
  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<Page<ProviderHoldView>> {
    const rows = await this.unitOfWork.read<Row>(
      `select h.id, h.adapter, h.credential, h.summary, h.run_id, h.agent_id, h.reset_at, h.held_until, h.opened_at,
              (select count(*)::int from runs r join agent_instances a on a.id = r.agent_id
                where r.workspace_id = h.workspace_id and r.status in ('queued', 'scheduled_retry')
                  and a.adapter = h.adapter and office_credential(a.adapter_config) = h.credential) as waiting_runs
         from provider_holds h where h.workspace_id = $1 and h.ended_at is null and ($2::uuid is null or h.id > $2) order by h.id limit $3`,
      [workspaceId, decodeCursor(cursor), limit + 1],
    );
    return pageFrom(rows, limit, ({ id }) => id, view);
  }

  /** Runs behind it may go at once. A hold that has ended already stays ended; one that never was is `not_found`. */
  lift({ person }: Call, workspaceId: string, id: string): Promise<LiftedHoldView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const [known] = await tx.query(`select id from provider_holds where workspace_id = $1 and id = $2`, [workspaceId, id]);
      if (known === undefined) throw new OfficeError('not_found');
      return { id, lifted: await this.holds.lift(tx, id, person.userId) };
    });
  }
}

const view = ({ reset_at, held_until, opened_at, ...row }: Row): ProviderHoldView => ({
  ...row,
  reset_at: reset_at.toISOString(),
  held_until: held_until.toISOString(),
  opened_at: opened_at.toISOString(),
});
