import { Injectable } from '@nestjs/common';
import { brokenConstraint } from '../platform/database/sqlstate.js';
import type { Tx } from '../platform/database/tx.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OfficeError } from '../platform/errors/office-error.js';
import { decodeCursor } from '../platform/http/cursor.js';
import type { PageQuery } from '../platform/http/page.dto.js';
import { pageFrom, type Page } from '../platform/http/page.view.js';
import { newId } from '../platform/ids.js';
import { OfficeHost } from '../platform/office-host.js';
import { RepositoryInspector, RepositoryUnusable } from './repository-inspector.service.js';
import type { RegisterRepositoryBody } from './repository.dto.js';
import type { RepositoryView } from './repository.view.js';
import { AgentUsers } from '../workspaces/agent-users.service.js';

interface Row extends Omit<RepositoryView, 'created_at'> {
  readonly created_at: Date;
}

const COLUMNS = `id, workspace_id, host_id, name, path, created_at`;

/** Which repositories of this host's disk the tasks of a workspace may work in. */
@Injectable()
export class RepositoryService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly inspector: RepositoryInspector,
    private readonly accounts: AgentUsers,
    private readonly host: OfficeHost,
  ) {}

  /** Looked at before it is stored, outside of the transaction: a slow disk holds no locks. */
  async realPathFor(workspaceId: string, path: string): Promise<string> {
    try {
      const real = await this.inspector.realPathOf(path);
      await this.inspector.assertUsable(real, await this.accounts.of(workspaceId));
      return real;
    } catch (error) {
      if (error instanceof RepositoryUnusable) throw new OfficeError('repository_unusable', { problem: error.problem });
      throw error;
    }
  }

  /** Part of an idempotent command. `path` as `realPathFor` answered it. */
  async register(tx: Tx, workspaceId: string, { name }: RegisterRepositoryBody, path: string): Promise<RepositoryView> {
    try {
      const [row] = await tx.query<Row>(
        `insert into repositories (id, workspace_id, host_id, name, path) values ($1, $2, $3, $4, $5) returning ${COLUMNS}`,
        [newId(), workspaceId, this.host.id, name, path],
      );
      return viewOf(row!);
    } catch (error) {
      if (brokenConstraint(error) === 'repositories_registered_once') throw new OfficeError('repository_taken');
      throw error;
    }
  }

  /** In the order in which they were registered. */
  async list(workspaceId: string, { limit, cursor }: PageQuery): Promise<Page<RepositoryView>> {
    const rows = await this.unitOfWork.read<Row>(
      `select ${COLUMNS} from repositories
        where workspace_id = $1 and removed_at is null and ($2::uuid is null or id > $2) order by id limit $3`,
      [workspaceId, decodeCursor(cursor), limit + 1],
    );
    return pageFrom(rows, limit, ({ id }) => id, viewOf);
  }

  /** No new task gets it, runs of those that have it fail with that as their reason. Nothing on the disk is touched. */
  async remove(workspaceId: string, id: string): Promise<void> {
    await this.unitOfWork.run(workspaceId, async (tx) => {
      const gone = await tx.query(
        `update repositories set removed_at = now() where workspace_id = $1 and id = $2 and removed_at is null returning id`,
        [workspaceId, id],
      );
      if (gone.length === 0) throw new OfficeError('not_found');
      await tx.query(`update projects set repository_id = null, updated_at = now() where workspace_id = $1 and repository_id = $2`, [
        workspaceId,
        id,
      ]);
    });
  }
}

const viewOf = (row: Row): RepositoryView => ({ ...row, created_at: row.created_at.toISOString() });
