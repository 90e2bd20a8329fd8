import { Injectable, Logger } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { WakeService } from './wake.service.js';

const BATCH = 100;

/** Places the wakes that were committed with what caused them, each in a transaction of its own (contract 5). */
@Injectable()
export class StoredWakes {
  private readonly logger = new Logger(StoredWakes.name);

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly wakes: WakeService,
  ) {}

  /** All that are there, or those of one workspace. One that cannot be placed does not keep the others waiting; it stays for the next time. */
  async place(workspaceId: string | null = null): Promise<void> {
    const stored = await this.unitOfWork.readPrepared<{ id: string; workspace_id: string }>(
      `select id, workspace_id from wake_requests where outcome = 'pending' and ($1::uuid is null or workspace_id = $1) order by id limit ${BATCH}`,
      [workspaceId],
    );
    for (const { id, workspace_id } of stored) {
      try {
        await this.unitOfWork.run(workspace_id, (tx) => this.wakes.placeStored(tx, id));
      } catch (error) {
        this.logger.error({ wake_request_id: id, workspace_id, err: error }, 'stored wake could not be placed');
      }
    }
  }
}
