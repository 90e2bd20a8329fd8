import { Injectable } from '@nestjs/common';
import type { Call } from '../access/call.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { Tx } from '../platform/database/tx.js';
import { RunStops } from '../runs/run-stops.service.js';
import { workspaceGate } from '../runs/workspace-gate.sql.js';
import type { WorkspaceSwitchView } from './recovery.view.js';

interface Row {
  readonly stopped_at: Date | null;
  readonly stopped_by: string | null;
}

/** The kill switch of a workspace. Pressed twice it changes and tells nothing. */
@Injectable()
export class WorkspaceSwitch {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly stops: RunStops,
  ) {}

  /** Nothing is claimed any more, everything that runs is stopped and ends `cancelled`, what waits goes on waiting. */
  stop({ person }: Call, workspaceId: string): Promise<WorkspaceSwitchView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      // Alone: claims under way have committed when we are through, so that we see their runs; later ones see the stop.
      await tx.query(`select pg_advisory_xact_lock(${workspaceGate('$1')})`, [workspaceId]);
      const [stopped] = await tx.query<Row>(
        `update workspaces set stopped_at = clock_timestamp(), stopped_by = $2 where id = $1 and stopped_at is null
         returning stopped_at, stopped_by`,
        [workspaceId, person.userId],
      );
      if (stopped === undefined) return this.view(tx, workspaceId, 0);
      const stopping = await this.stops.askToStop(tx, 'all', 'workspace_stopped');
      tx.emit('office.workspace.updated', { workspace_id: workspaceId, stopped_at: stopped.stopped_at!.toISOString(), by: person.userId });
      return this.view(tx, workspaceId, stopping);
    });
  }

  /** What waits may be claimed again; nothing that was stopped begins by itself. */
  start({ person }: Call, workspaceId: string): Promise<WorkspaceSwitchView> {
    return this.unitOfWork.run(workspaceId, async (tx) => {
      const started = await tx.query(
        `update workspaces set stopped_at = null, stopped_by = null, unblocked_at = clock_timestamp()
          where id = $1 and stopped_at is not null returning id`,
        [workspaceId],
      );
      if (started.length === 1) {
        tx.emit('office.workspace.updated', { workspace_id: workspaceId, stopped_at: null, by: person.userId });
        tx.nudge('work');
      }
      return this.view(tx, workspaceId, 0);
    });
  }

  private async view(tx: Tx, workspaceId: string, stopping: number): Promise<WorkspaceSwitchView> {
    const [row] = await tx.query<Row>(`select stopped_at, stopped_by from workspaces where id = $1`, [workspaceId]);
    return {
      workspace_id: workspaceId,
      stopped_at: row!.stopped_at?.toISOString() ?? null,
      stopped_by: row!.stopped_by,
      stopping_runs: stopping,
    };
  }
}
