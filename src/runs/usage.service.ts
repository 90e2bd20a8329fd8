import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { usageSql } from '../workspaces/usage.sql.js';
import type { UsageView } from '../workspaces/usage.view.js';
import type { UsageQuery } from './run.dto.js';

const NONE: UsageView = { input_tokens: 0, output_tokens: 0, total_tokens: 0, attempts: 0, cost: [] };

/** What a whole workspace has used. */
@Injectable()
export class UsageService {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  async ofWorkspace(workspaceId: string, { since }: UsageQuery): Promise<UsageView> {
    const [row] = await this.unitOfWork.read<{ usage: UsageView | null }>(
      `select ${usageSql(`u.workspace_id = $1 and ($2::timestamptz is null or u.used_at >= $2)`)} as usage`,
      [workspaceId, since ?? null],
    );
    return row?.usage ?? NONE;
  }
}
