import { Injectable } from '@nestjs/common';
import type { Reading } from '../platform/database/reading.js';
import { OfficeError } from '../platform/errors/office-error.js';

/** The repositories' face towards rooms that only refer to them. */
@Injectable()
export class RegisteredRepositories {
  /** Refuses what is not, or no longer, registered in the workspace. For whoever is about to refer to it. */
  async assertRegistered(db: Reading, workspaceId: string, id: string): Promise<void> {
    const rows = await db.query(`select from repositories where workspace_id = $1 and id = $2 and removed_at is null`, [workspaceId, id]);
    if (rows.length === 0) throw new OfficeError('not_found', { what: 'repository', id });
  }
}
